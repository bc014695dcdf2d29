/*
 * Each queue of thalweg_queue.h in a few lines. C11 and C++11, POSIX threads.
 *
 *   cargo build --profile c -p thalweg-queue-c
 *   cc -std=c11 -pthread -I bindings/c/include bindings/c/examples/queue.c \
 *      target/c/libthalweg_queue_c.a -ldl -lm -o queue
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "thalweg_queue.h"

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);     \
            exit(EXIT_FAILURE);                                                         \
        }                                                                               \
    } while (0)

static pthread_t start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run, argument) == 0);
    return thread;
}

/* One producer, one consumer. The producer allocates, the consumer frees. */

enum { MESSAGES = 10000 };

struct message {
    int number;
};

static void *send_messages(void *argument)
{
    thalweg_spsc_producer *producer = (thalweg_spsc_producer *)argument;
    for (int number = 0; number < MESSAGES; number++) {
        struct message *message = (struct message *)malloc(sizeof *message);
        CHECK(message != NULL);
        message->number = number;
        CHECK(thalweg_spsc_push(producer, message) == THALWEG_STATUS_OK); /* waits while the queue is full */
    }
    thalweg_spsc_producer_free(producer); /* closes the queue; the consumer gets the rest */
    return NULL;
}

static void one_to_one(void)
{
    thalweg_spsc_producer *producer;
    thalweg_spsc_consumer *consumer;
    char error[128];
    if (thalweg_spsc_new(512, THALWEG_WAIT_YIELD, &producer, &consumer, error, sizeof error) != THALWEG_STATUS_OK) {
        fprintf(stderr, "%s\n", error);
        exit(EXIT_FAILURE);
    }
    pthread_t sender = start(send_messages, producer);
    int expected = 0;
    void *item;
    thalweg_status status;
    while ((status = thalweg_spsc_pop(consumer, &item)) == THALWEG_STATUS_OK) {
        struct message *message = (struct message *)item;
        CHECK(message->number == expected);
        expected++;
        free(message);
    }
    CHECK(status == THALWEG_STATUS_CLOSED && expected == MESSAGES);
    CHECK(thalweg_spsc_consumer_is_closed(consumer) && thalweg_spsc_consumer_len(consumer) == 0);
    pthread_join(sender, NULL);
    thalweg_spsc_consumer_free(consumer);
    printf("spsc: %d messages in order\n", expected);
}

/* The same with structs that are copied. */

struct trade {
    uint64_t price;
    uint32_t amount;
    char symbol[4];
};

static void *send_trades(void *argument)
{
    thalweg_spsc_records_producer *producer = (thalweg_spsc_records_producer *)argument;
    struct trade trade = {1000, 0, {'A', 'B', 'C', 0}};
    for (int amount = 0; amount < MESSAGES; amount++) {
        trade.amount = (uint32_t)amount;
        CHECK(thalweg_spsc_records_push(producer, &trade) == THALWEG_STATUS_OK); /* waits while the queue is full */
    }
    thalweg_spsc_records_producer_free(producer);
    return NULL;
}

static void one_to_one_copied(void)
{
    thalweg_spsc_records_producer *producer;
    thalweg_spsc_records_consumer *consumer;
    CHECK(thalweg_spsc_records_new_blocks(sizeof(struct trade), 4, 128, THALWEG_WAIT_YIELD, &producer, &consumer, NULL,
                                          0) == THALWEG_STATUS_OK);
    pthread_t sender = start(send_trades, producer);
    int expected = 0;
    struct trade trade;
    thalweg_status status;
    while ((status = thalweg_spsc_records_pop(consumer, &trade)) == THALWEG_STATUS_OK) {
        CHECK(trade.amount == (uint32_t)expected && strcmp(trade.symbol, "ABC") == 0);
        expected++;
    }
    CHECK(status == THALWEG_STATUS_CLOSED && expected == MESSAGES);
    pthread_join(sender, NULL);
    thalweg_spsc_records_consumer_free(consumer);
    printf("spsc: %d structs in order\n", expected);
}

/* Structs that are written and read where they are: in the queue from the commit on, and until the release. */

static void one_to_one_in_place(void)
{
    thalweg_spsc_records_producer *producer;
    thalweg_spsc_records_consumer *consumer;
    CHECK(thalweg_spsc_records_new(sizeof(struct trade), 512, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    struct trade trade = {1000, 0, {'A', 'B', 'C', 0}};
    void *entries;
    size_t granted;
    for (uint32_t amount = 0; amount < 500; amount++) {
        CHECK(thalweg_spsc_records_reserve(producer, 1, &entries, &granted) == THALWEG_STATUS_OK && granted == 1);
        trade.amount = amount;
        memcpy(entries, &trade, sizeof trade); /* it may stand at any address */
        CHECK(thalweg_spsc_records_commit(producer, granted) == THALWEG_STATUS_OK);
    }
    thalweg_spsc_records_producer_free(producer);
    uint32_t expected = 0;
    while (thalweg_spsc_records_read(consumer, 1, &entries, &granted) == THALWEG_STATUS_OK) {
        memcpy(&trade, entries, sizeof trade);
        CHECK(trade.amount == expected);
        CHECK(thalweg_spsc_records_release(consumer, granted) == THALWEG_STATUS_OK);
        expected++;
    }
    thalweg_spsc_records_consumer_free(consumer);
    printf("spsc: %d structs in place\n", (int)expected);
}

/* Pointers in batches. */

static void one_to_one_in_batches(void)
{
    thalweg_spsc_producer *producer;
    thalweg_spsc_consumer *consumer;
    CHECK(thalweg_spsc_new_blocks(4, 64, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) == THALWEG_STATUS_OK);
    static int numbers[200];
    void *in[200], *out[200];
    for (int i = 0; i < 200; i++) {
        in[i] = &numbers[i];
    }
    size_t pushed, popped;
    CHECK(thalweg_spsc_push_many(producer, in, 200, &pushed) == THALWEG_STATUS_OK && pushed == 200);
    CHECK(thalweg_spsc_pop_many(consumer, out, 200, &popped) == THALWEG_STATUS_OK && popped == 200);
    CHECK(memcmp(in, out, sizeof in) == 0);
    thalweg_spsc_producer_free(producer);
    thalweg_spsc_consumer_free(consumer);
    printf("spsc: a batch of %d items\n", (int)popped);
}

/* Two producers, two consumers, on the same handles. Waiting threads sleep. */

enum { EACH = 5000 };

static int counted[2 * EACH]; /* how often each was popped */
static thalweg_bbq_producer *shared_producer;
static thalweg_bbq_consumer *shared_consumer;

static void *push_numbers(void *argument)
{
    int *numbers = (int *)argument;
    for (int i = 0; i < EACH; i++) {
        CHECK(thalweg_bbq_push(shared_producer, &numbers[i]) == THALWEG_STATUS_OK);
    }
    return NULL;
}

static void *count_numbers(void *argument)
{
    intptr_t popped = 0;
    void *item;
    (void)argument;
    while (thalweg_bbq_pop(shared_consumer, &item) == THALWEG_STATUS_OK) {
        ++*(int *)item; /* nobody else has this one */
        popped++;
    }
    return (void *)popped;
}

static void many_to_many(void)
{
    char error[128];
    size_t capacity = 1024, blocks = thalweg_bbq_blocks(capacity);
    CHECK(thalweg_bbq_new(blocks, capacity / blocks, THALWEG_WAIT_PARK, &shared_producer, &shared_consumer, error,
                          sizeof error) == THALWEG_STATUS_OK);
    pthread_t consumers[2], producers[2];
    for (int i = 0; i < 2; i++) {
        consumers[i] = start(count_numbers, NULL);
        producers[i] = start(push_numbers, &counted[i * EACH]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(producers[i], NULL);
    }
    thalweg_bbq_producer_free(shared_producer); /* the only one; consumers get CLOSED when nothing is left */
    intptr_t sum = 0;
    for (int i = 0; i < 2; i++) {
        void *popped;
        pthread_join(consumers[i], &popped);
        sum += (intptr_t)popped;
    }
    thalweg_bbq_consumer_free(shared_consumer);
    CHECK(sum == 2 * EACH);
    for (int i = 0; i < 2 * EACH; i++) {
        CHECK(counted[i] == 1);
    }
    printf("bbq: %d items, each once\n", (int)sum);
}

/* Two producers, one consumer, whose handle is that of a queue for one and one. */

static int numbers[2 * EACH];

static void many_to_one(void)
{
    thalweg_spsc_consumer *consumer;
    CHECK(thalweg_bbq_new_mpsc(4, 64, THALWEG_WAIT_PARK, &shared_producer, &consumer, NULL, 0) == THALWEG_STATUS_OK);
    pthread_t producers[2];
    for (int i = 0; i < 2; i++) {
        producers[i] = start(push_numbers, &numbers[i * EACH]);
    }
    const int *next[2] = {&numbers[0], &numbers[EACH]};
    for (int i = 0; i < 2 * EACH; i++) {
        void *item;
        CHECK(thalweg_spsc_pop(consumer, &item) == THALWEG_STATUS_OK);
        const int **of = &next[(int *)item >= &numbers[EACH]];
        CHECK(item == *of); /* those of one producer come in their order */
        ++*of;
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(producers[i], NULL);
    }
    thalweg_bbq_producer_free(shared_producer);
    CHECK(thalweg_spsc_consumer_is_closed(consumer));
    thalweg_spsc_consumer_free(consumer);
    printf("bbq: %d items of two producers in order\n", 2 * EACH);
}

/* One producer, two consumers. */

static void one_to_many(void)
{
    thalweg_spsc_producer *producer;
    CHECK(thalweg_bbq_new_spmc(4, 64, THALWEG_WAIT_PARK, &producer, &shared_consumer, NULL, 0) == THALWEG_STATUS_OK);
    static int counts[2 * EACH];
    pthread_t consumers[2];
    for (int i = 0; i < 2; i++) {
        consumers[i] = start(count_numbers, NULL);
    }
    for (int i = 0; i < 2 * EACH; i++) {
        CHECK(thalweg_spsc_push(producer, &counts[i]) == THALWEG_STATUS_OK);
    }
    thalweg_spsc_producer_free(producer);
    for (int i = 0; i < 2; i++) {
        pthread_join(consumers[i], NULL);
    }
    thalweg_bbq_consumer_free(shared_consumer);
    for (int i = 0; i < 2 * EACH; i++) {
        CHECK(counts[i] == 1);
    }
    printf("bbq: %d items of one producer, each once\n", 2 * EACH);
}

/* The same, structs. */

static void one_to_many_copied(void)
{
    thalweg_spsc_records_producer *producer;
    thalweg_records_consumer *consumer;
    CHECK(thalweg_records_new_spmc(sizeof(struct trade), 2, 8, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    thalweg_records_consumer *other = thalweg_records_consumer_clone(consumer);
    struct trade trade = {1000, 1, {'A', 'B', 'C', 0}};
    CHECK(thalweg_spsc_records_push(producer, &trade) == THALWEG_STATUS_OK);
    trade.amount = 2;
    CHECK(thalweg_spsc_records_push(producer, &trade) == THALWEG_STATUS_OK);
    CHECK(thalweg_records_pop(other, &trade) == THALWEG_STATUS_OK && trade.amount == 1);
    CHECK(thalweg_records_pop(consumer, &trade) == THALWEG_STATUS_OK && trade.amount == 2);
    thalweg_spsc_records_producer_free(producer);
    CHECK(thalweg_records_pop(other, &trade) == THALWEG_STATUS_CLOSED);
    thalweg_records_consumer_free(other);
    thalweg_records_consumer_free(consumer);
    printf("records: 2 structs to two consumers\n");
}

/* Two producers that write structs where they are, and one consumer. It passes over what is not committed. */

static void many_to_one_in_place(void)
{
    thalweg_records_producer *producer;
    thalweg_spsc_records_consumer *consumer;
    CHECK(thalweg_records_new_mpsc(sizeof(struct trade), 2, 8, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    thalweg_records_producer *producers[2] = {producer, thalweg_records_producer_clone(producer)};
    struct trade trade = {1000, 0, {'A', 'B', 'C', 0}};
    void *entries;
    size_t granted;
    for (int i = 0; i < 2; i++) {
        thalweg_records_grant grant;
        CHECK(thalweg_records_reserve(producers[i], 2, &entries, &granted, &grant) == THALWEG_STATUS_OK);
        trade.amount = (uint32_t)i;
        memcpy(entries, &trade, sizeof trade);
        CHECK(thalweg_records_commit(producers[i], grant, 1) == THALWEG_STATUS_OK);
        thalweg_records_producer_free(producers[i]);
    }
    uint32_t expected = 0;
    while (thalweg_spsc_records_pop(consumer, &trade) == THALWEG_STATUS_OK) {
        CHECK(trade.amount == expected);
        expected++;
    }
    thalweg_spsc_records_consumer_free(consumer);
    printf("records: %d structs of two producers\n", (int)expected);
}

/* Structs that are read where they are, too. */

static void structs_in_place(void)
{
    thalweg_records_producer *producer;
    thalweg_records_consumer *consumer;
    CHECK(thalweg_records_new(sizeof(struct trade), 2, 8, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    struct trade in[8], out[8];
    memset(in, 0, sizeof in);
    for (uint32_t i = 0; i < 8; i++) {
        in[i].amount = i;
    }
    void *entries;
    size_t granted, taken;
    thalweg_records_grant grant;
    CHECK(thalweg_records_reserve(producer, 8, &entries, &granted, &grant) == THALWEG_STATUS_OK);
    memcpy(entries, in, granted * sizeof in[0]);
    CHECK(thalweg_records_commit(producer, grant, granted) == THALWEG_STATUS_OK);
    CHECK(thalweg_records_read(consumer, 8, &entries, &taken, &grant) == THALWEG_STATUS_OK && taken == granted);
    memcpy(out, entries, taken * sizeof out[0]);
    CHECK(thalweg_records_release(consumer, grant) == THALWEG_STATUS_OK);
    CHECK(memcmp(in, out, taken * sizeof out[0]) == 0);
    thalweg_records_producer_free(producer);
    thalweg_records_consumer_free(consumer);
    printf("records: %d structs in place\n", (int)taken);
}

/* Structs that are copied, in batches. */

static void copied(void)
{
    thalweg_records_producer *producer;
    thalweg_records_consumer *consumer;
    char error[128];
    CHECK(thalweg_records_new(sizeof(struct trade), 2, 8, THALWEG_WAIT_YIELD, &producer, &consumer, error,
                              sizeof error) == THALWEG_STATUS_OK);
    struct trade in[20], out[20];
    memset(in, 0, sizeof in);
    for (uint32_t i = 0; i < 20; i++) {
        in[i].price = 1000 + i;
        in[i].amount = i;
    }
    size_t pushed, popped;
    CHECK(thalweg_records_try_push_many(producer, in, 20, &pushed) == THALWEG_STATUS_OK && pushed == 16);
    CHECK(thalweg_records_try_push(producer, &in[pushed]) == THALWEG_STATUS_FULL);
    CHECK(thalweg_records_producer_len(producer) == 16 && thalweg_records_producer_capacity(producer) == 16);
    CHECK(thalweg_records_try_pop_many(consumer, out, 20, &popped) == THALWEG_STATUS_OK && popped == 16);
    CHECK(memcmp(in, out, popped * sizeof in[0]) == 0);
    CHECK(thalweg_records_pop_timeout(consumer, out, 1000000) == THALWEG_STATUS_TIMEOUT);
    thalweg_records_producer_free(producer);
    CHECK(thalweg_records_pop(consumer, out) == THALWEG_STATUS_CLOSED);
    thalweg_records_consumer_free(consumer);
    printf("records: %d of 20 structs of %d bytes\n", (int)popped, (int)sizeof(struct trade));
}

/* A worker with tasks of its own, and a thief. */

static int done[1000];

static void *steal_all(void *argument)
{
    thalweg_bwos_thief *thief = (thalweg_bwos_thief *)argument;
    void *tasks[64];
    size_t stolen;
    thalweg_status status;
    while ((status = thalweg_bwos_steal_many(thief, tasks, 64, &stolen)) != THALWEG_STATUS_CLOSED) {
        for (size_t i = 0; i < stolen; i++) {
            ++*(int *)tasks[i];
        }
    }
    thalweg_bwos_thief_free(thief);
    return NULL;
}

static void stolen_from(void)
{
    thalweg_bwos_owner *owner;
    thalweg_bwos_thief *thief;
    char error[128];
    CHECK(thalweg_bwos_new_lifo(8, 16, &owner, &thief, error, sizeof error) == THALWEG_STATUS_OK);
    pthread_t other = start(steal_all, thief);
    for (int i = 0; i < 1000; i++) {
        if (thalweg_bwos_push(owner, &done[i]) != THALWEG_STATUS_OK) {
            ++done[i]; /* no room: do it now */
        }
    }
    void *task;
    for (int i = 0; i < 50 && thalweg_bwos_pop(owner, &task) == THALWEG_STATUS_OK; i++) {
        ++*(int *)task;
    }
    thalweg_bwos_owner_free(owner); /* leaves the rest to the thief */
    pthread_join(other, NULL);
    for (int i = 0; i < 1000; i++) {
        CHECK(done[i] == 1);
    }
    printf("bwos: 1000 tasks, each done once\n");
}

/* The same with tasks that are structs. */

struct range {
    uint32_t from, to;
};

static void ranges_stolen(void)
{
    thalweg_bwos_records_owner *owner;
    thalweg_bwos_records_thief *thief;
    CHECK(thalweg_bwos_records_new_lifo(sizeof(struct range), 2, 8, &owner, &thief, NULL, 0) == THALWEG_STATUS_OK);
    for (uint32_t i = 0; i < 8; i++) {
        struct range range = {i * 100, i * 100 + 100};
        CHECK(thalweg_bwos_records_push(owner, &range) == THALWEG_STATUS_OK);
    }
    CHECK(thalweg_bwos_records_owner_len(owner) == 8 && thalweg_bwos_records_owner_capacity(owner) == 16);
    struct range newest, oldest[7];
    CHECK(thalweg_bwos_records_pop(owner, &newest) == THALWEG_STATUS_OK && newest.from == 700);
    CHECK(thalweg_bwos_records_share(owner) == THALWEG_STATUS_OK); /* or go on to another block */
    size_t stolen;
    CHECK(thalweg_bwos_records_steal_many(thief, oldest, 6, &stolen) == THALWEG_STATUS_OK && stolen == 6);
    CHECK(oldest[0].from == 0 && oldest[5].to == 600);
    thalweg_bwos_records_owner_free(owner);
    CHECK(thalweg_bwos_records_steal(thief, &oldest[6]) == THALWEG_STATUS_OK && oldest[6].to == 700);
    CHECK(thalweg_bwos_records_steal(thief, &oldest[6]) == THALWEG_STATUS_CLOSED);
    thalweg_bwos_records_thief_free(thief);
    printf("bwos: %d of 8 structs stolen\n", (int)stolen);
}

/* Tasks that are done in the order in which they come, in batches. */

static void oldest_first(void)
{
    thalweg_bwos_owner *owner;
    thalweg_bwos_thief *thief;
    CHECK(thalweg_bwos_new_fifo(4, 8, &owner, &thief, NULL, 0) == THALWEG_STATUS_OK);
    thalweg_bwos_thief_free(thief); /* nobody steals at first */
    static int work[40];
    void *tasks[40], *some[10];
    for (int i = 0; i < 40; i++) {
        tasks[i] = &work[i];
    }
    size_t pushed, popped, stolen;
    CHECK(thalweg_bwos_push_many(owner, tasks, 40, &pushed) == THALWEG_STATUS_OK && pushed == 32); /* what fits */
    CHECK(thalweg_bwos_pop_many(owner, some, 10, &popped) == THALWEG_STATUS_OK && popped == 10);
    CHECK(memcmp(some, tasks, sizeof some) == 0);
    CHECK(thalweg_bwos_share(owner) == THALWEG_STATUS_OK);
    thief = thalweg_bwos_thief_new(owner);
    size_t left = pushed - popped;
    while (thalweg_bwos_steal_many(thief, some, 10, &stolen) == THALWEG_STATUS_OK) {
        left -= stolen;
    }
    CHECK(left == 0 && thalweg_bwos_owner_len(owner) == 0);
    thalweg_bwos_owner_free(owner);
    thalweg_bwos_thief_free(thief);
    printf("bwos: %d of %d tasks in order\n", (int)popped, (int)pushed);
}

/* The same with tasks that are structs. */

static void oldest_ranges_first(void)
{
    thalweg_bwos_records_owner *owner;
    thalweg_bwos_records_thief *thief;
    CHECK(thalweg_bwos_records_new_fifo(sizeof(struct range), 2, 8, &owner, &thief, NULL, 0) == THALWEG_STATUS_OK);
    thalweg_bwos_records_thief_free(thief);
    struct range in[8], out[8];
    for (uint32_t i = 0; i < 8; i++) {
        in[i].from = i * 100;
        in[i].to = i * 100 + 100;
    }
    size_t pushed, popped;
    CHECK(thalweg_bwos_records_push_many(owner, in, 8, &pushed) == THALWEG_STATUS_OK && pushed == 8);
    CHECK(thalweg_bwos_records_pop_many(owner, out, 7, &popped) == THALWEG_STATUS_OK && popped == 7);
    thief = thalweg_bwos_records_thief_new(owner);
    thalweg_bwos_records_owner_free(owner); /* leaves the last one to the thief */
    CHECK(thalweg_bwos_records_steal(thief, &out[7]) == THALWEG_STATUS_OK);
    CHECK(memcmp(in, out, sizeof in) == 0);
    thalweg_bwos_records_thief_free(thief);
    printf("bwos: %d of %d structs in order\n", (int)popped, (int)pushed);
}

/* Messages of any size, written and read where they are. */

static void in_place(void)
{
    thalweg_bytes_producer *producer;
    thalweg_bytes_consumer *consumer;
    CHECK(thalweg_bytes_new(4, 1024, THALWEG_WAIT_PARK, &producer, &consumer, NULL, 0) == THALWEG_STATUS_OK);
    size_t sent = 0;
    for (int line = 0; line < 8; line++) {
        void *bytes;
        thalweg_bytes_grant grant;
        CHECK(thalweg_bytes_reserve_timeout(producer, 100, &bytes, &grant, 1000000000) == THALWEG_STATUS_OK);
        int length = snprintf((char *)bytes, 100, "line %d of %s", line, line % 2 == 0 ? "eight" : "them all");
        CHECK(thalweg_bytes_commit(producer, grant, (size_t)length) == THALWEG_STATUS_OK); /* the rest goes back */
        sent += (size_t)length;
    }
    CHECK(thalweg_bytes_producer_len(producer) >= sent); /* bytes, each message's rounded up */
    void *nothing;
    thalweg_bytes_grant unused;
    CHECK(thalweg_bytes_reserve(producer, 100, &nothing, &unused) == THALWEG_STATUS_OK);
    CHECK(thalweg_bytes_abandon(producer, unused) == THALWEG_STATUS_OK); /* nobody waits for it any more */
    CHECK(thalweg_bytes_push(producer, "", 0) == THALWEG_STATUS_OK); /* an empty message is one */
    thalweg_bytes_producer_free(producer);
    size_t received = 0, messages = 0, size;
    const void *bytes;
    thalweg_bytes_grant grant;
    while (thalweg_bytes_read(consumer, &bytes, &size, &grant) == THALWEG_STATUS_OK) {
        CHECK(size == 0 || memcmp(bytes, "line ", 5) == 0);
        received += size;
        messages++;
        CHECK(thalweg_bytes_release(consumer, grant) == THALWEG_STATUS_OK);
    }
    CHECK(received == sent);
    thalweg_bytes_consumer_free(consumer);
    printf("bytes: %zu messages in place\n", messages);
}

/* A trace that nobody reads in time: the newest entries are kept. */

static void overwritten(void)
{
    thalweg_records_producer *producer;
    thalweg_records_consumer *consumer;
    CHECK(thalweg_records_new_drop_old(sizeof(uint64_t), 4, 16, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    for (uint64_t sample = 0; sample < 1000; sample++) {
        CHECK(thalweg_records_try_push(producer, &sample) == THALWEG_STATUS_OK); /* never full */
    }
    uint64_t oldest;
    CHECK(thalweg_records_try_pop(consumer, &oldest) == THALWEG_STATUS_OK);
    CHECK(oldest == thalweg_records_consumer_dropped(consumer));
    printf("drop-old: %u of 1000 samples kept\n", (unsigned)(1000 - oldest));
    thalweg_records_producer_free(producer);
    thalweg_records_consumer_free(consumer);
}

/* The same with lines of any length. */

static void overwritten_lines(void)
{
    thalweg_bytes_producer *producer;
    thalweg_bytes_consumer *consumer;
    char line[256];
    size_t size, kept = 0;
    CHECK(thalweg_bytes_new_drop_old(4, sizeof line, THALWEG_WAIT_YIELD, &producer, &consumer, NULL, 0) ==
          THALWEG_STATUS_OK);
    for (int number = 0; number < 1000; number++) {
        int length = snprintf(line, sizeof line, "%d", number);
        CHECK(thalweg_bytes_try_push(producer, line, (size_t)length) == THALWEG_STATUS_OK); /* never full */
    }
    while (thalweg_bytes_try_pop(consumer, line, sizeof line, &size) == THALWEG_STATUS_OK) {
        kept++;
    }
    CHECK(size == 0 && memcmp(line, "999", 3) == 0);
    printf("drop-old: %zu of 1000 lines kept\n", kept);
    thalweg_bytes_producer_free(producer);
    thalweg_bytes_consumer_free(consumer);
}

int main(void)
{
    one_to_one();
    one_to_one_copied();
    one_to_one_in_place();
    one_to_one_in_batches();
    many_to_many();
    many_to_one();
    one_to_many();
    one_to_many_copied();
    many_to_one_in_place();
    structs_in_place();
    copied();
    in_place();
    overwritten();
    overwritten_lines();
    stolen_from();
    ranges_stolen();
    oldest_first();
    oldest_ranges_first();

    /* A refusal says why. */
    thalweg_bbq_producer *producer = NULL;
    thalweg_bbq_consumer *consumer = NULL;
    char error[128];
    thalweg_status status = thalweg_bbq_new(12, 64, THALWEG_WAIT_YIELD, &producer, &consumer, error, sizeof error);
    CHECK(status == THALWEG_STATUS_INVALID && producer == NULL);
    printf("refused: %s\n", error);
    return EXIT_SUCCESS;
}
