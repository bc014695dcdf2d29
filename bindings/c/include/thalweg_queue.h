/*
 * Queues for handing messages between threads, from C and C++.
 *
 *   thalweg_spsc_*          pointers, one producer and one consumer
 *   thalweg_spsc_records_*  byte entries of one size, copied or in place, one producer and one consumer
 *   thalweg_bbq_*           pointers, any number of either, or of one of them
 *   thalweg_records_*       the same with byte entries of one size, copied or in place; also in drop-old mode, copied
 *   thalweg_bytes_*         byte messages of any size, written and read in place, any number of either; also in drop-old mode, copied
 *   thalweg_bwos_*          pointers, one owner, any number of thieves
 *   thalweg_bwos_records_*  byte entries of one size, copied, one owner, any number of thieves
 *
 * Handles. A `_new` or `_clone` function makes them, the `_free` function of their type frees them, once; all other arguments stay the
 * caller's. A handle keeps its queue alive, in any order of freeing. NULL is refused with THALWEG_STATUS_INVALID, or as a function
 * says; any other pointer that is not a living handle is undefined behaviour.
 *
 * One and many. Where a side may have many ends, its handle is shared and has a `_clone` function. Where it has one, it is the handle of
 * `thalweg_spsc_*` or `thalweg_spsc_records_*`, whatever is on the other side: which queue it is was said when it was built.
 *
 * Threads. A shared handle may be used by any number of threads at the same time. Any other is used by one thread at a time; to hand it
 * on, synchronise as for any memory. Nobody frees a handle that another thread still uses.
 *
 * Waiting. A function that waits does so as its queue was told when it was built; one that is named `try` never does. `nanoseconds` count
 * from the call: with 0 it tries and does not wait, UINT64_MAX is for ever.
 *
 * Items. A pointer that was pushed belongs to the queue until it is popped; the queue never looks at what it points to and never
 * frees it. What the pushing thread did before the push is visible to the popping thread after the pop. A push while the last
 * consumer is being freed may answer OK and be forgotten. Memory to pop to need not have been written before.
 *
 * Grants. What is written or read in place has a grant, which is ended once, by the function that its own one names, with the handle
 * that gave it or a clone. Its bytes are the caller's until then. One that is never ended stops the queue. Where a side has one end there
 * is nothing to be ended: it reserves and commits, or reads and releases, and what it did not is as if it had not been asked for.
 *
 * Entries in place stand one behind the other, at any address: copy to and from them, unless they are arrays of bytes.
 *
 * Errors. A refusal takes nothing: what was to be pushed is still the caller's; of a batch that waits, all that its count does not say. A
 * function that builds a queue writes the reason to `error`, as text that ends with a NUL and is cut if it does not fit; with OK the text
 * is empty. A queue that there is no memory for is refused so too, as INVALID; if memory runs out elsewhere, the process ends with a
 * message. No unwinding leaves the library.
 *
 * Link with the static library and the system's threads, loader and math libraries (`-pthread -ldl -lm` on Linux), or with the shared one.
 */


#ifndef THALWEG_QUEUE_H
#define THALWEG_QUEUE_H

/* Generated from the Rust sources of thalweg-queue-c: `UPDATE_HEADER=1 cargo test -p thalweg-queue-c --test header`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a function answers.
typedef enum {
  // Done.
  THALWEG_STATUS_OK = 0,
  // Nothing pushed: no room, a consumer has to pop first.
  THALWEG_STATUS_FULL = 1,
  // Nothing popped or stolen: there is nothing, a producer has to push first.
  THALWEG_STATUS_EMPTY = 2,
  // Nothing done, as another thread is in the middle of something: trying again soon is worthwhile.
  THALWEG_STATUS_BUSY = 3,
  // Nothing done, and it will stay so: the other side is gone, and for a pop or a steal nothing is left.
  THALWEG_STATUS_CLOSED = 4,
  // Nothing done until the time was over.
  THALWEG_STATUS_TIMEOUT = 5,
  // Nothing done: an argument is out of range, or NULL where it may not be.
  THALWEG_STATUS_INVALID = 6,
} thalweg_status;

// How the ends of a queue wait while it is full or empty.
typedef enum {
  // On the processor for about a microsecond, then giving up the time slice over and over. Threads that seldom wait for long.
  THALWEG_WAIT_YIELD = 0,
  // On the processor, keeping the time slice. Threads that have a core to themselves.
  THALWEG_WAIT_SPIN = 1,
  // As yield for a moment, then asleep until the other side says so. Threads that wait for long, or more of them than cores.
  // Each push and each pop then looks at one more word.
  THALWEG_WAIT_PARK = 2,
} thalweg_wait;

// A reading end of a queue for many. Shared: any number of threads may use it at the same time.
typedef struct thalweg_bbq_consumer thalweg_bbq_consumer;

// A writing end of a queue for many. Shared: any number of threads may use it at the same time.
typedef struct thalweg_bbq_producer thalweg_bbq_producer;

// The owner of a work-stealing queue: pushes and pops. One thread at a time uses it; it may move between threads.
typedef struct thalweg_bwos_owner thalweg_bwos_owner;

// The owner of a work-stealing queue of byte entries: pushes and pops. One thread at a time uses it; it may move between threads.
typedef struct thalweg_bwos_records_owner thalweg_bwos_records_owner;

// A thief of a work-stealing queue of byte entries. One thread at a time uses it; clone it for each thread that steals.
typedef struct thalweg_bwos_records_thief thalweg_bwos_records_thief;

// A thief of a work-stealing queue. One thread at a time uses it; clone it for each thread that steals.
typedef struct thalweg_bwos_thief thalweg_bwos_thief;

// A reading end of a queue of byte messages. Shared: any number of threads may use it at the same time.
typedef struct thalweg_bytes_consumer thalweg_bytes_consumer;

// A writing end of a queue of byte messages. Shared: any number of threads may use it at the same time.
typedef struct thalweg_bytes_producer thalweg_bytes_producer;

// A reading end of a queue of byte entries. Shared: any number of threads may use it at the same time.
typedef struct thalweg_records_consumer thalweg_records_consumer;

// A writing end of a queue of byte entries. Shared: any number of threads may use it at the same time.
typedef struct thalweg_records_producer thalweg_records_producer;

// The only reading end of a queue: for one producer, or many. One thread at a time uses it; it may move between threads.
typedef struct thalweg_spsc_consumer thalweg_spsc_consumer;

// The only writing end of a queue: for one consumer, or many. One thread at a time uses it; it may move between threads.
typedef struct thalweg_spsc_producer thalweg_spsc_producer;

// The only reading end of a queue of byte entries: for one producer, or many. One thread at a time uses it; it may move between
// threads.
typedef struct thalweg_spsc_records_consumer thalweg_spsc_records_consumer;

// The only writing end of a queue of byte entries: for one consumer, or many. One thread at a time uses it; it may move between
// threads.
typedef struct thalweg_spsc_records_producer thalweg_spsc_records_producer;

// Entries that are being written or read in place. To be ended once, with the handle that gave it or a clone of that; what is in it
// concerns nobody else.
typedef struct {
  uint64_t place;
  size_t count;
} thalweg_records_grant;

// A message that is being written or read in place. To be ended once, with the handle that gave it or a clone of that; what is in it
// concerns nobody else.
typedef struct {
  uint64_t place;
  size_t size;
} thalweg_bytes_grant;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What `status` means, in English. Never NULL; the text is static, so nobody frees it. Takes any number.
const char *thalweg_status_text(uint32_t status);

// A queue for `capacity` pointers, one producer and one consumer: FastForward, the fastest one for single items.
//
// At least `capacity` items fit, and up to 16 more; up to 32 where a pointer has 4 bytes. 512 to 4096 is where throughput is best.
// `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`,
// a buffer of `error_size` bytes, which may be NULL.
thalweg_status thalweg_spsc_new(size_t capacity,
                                uint32_t wait,
                                thalweg_spsc_producer **producer,
                                thalweg_spsc_consumer **consumer,
                                char *error,
                                size_t error_size);

// A queue of `blocks` blocks with `entries` pointers each, for one producer and one consumer: the block-based queue, better for
// batches. Same handles and functions as `thalweg_spsc_new`.
//
// `blocks` is a power of two and at least 2, `entries` at least 1. Blocks are given back whole, so FULL means that at least
// `(blocks - 1) * entries + 1` items are in the queue.
thalweg_status thalweg_spsc_new_blocks(size_t blocks,
                                       size_t entries,
                                       uint32_t wait,
                                       thalweg_spsc_producer **producer,
                                       thalweg_spsc_consumer **consumer,
                                       char *error,
                                       size_t error_size);

// Pushes `item` now, or answers FULL, CLOSED, or BUSY where there are many consumers. INVALID if `item` is NULL: null marks an empty
// slot. Never waits.
//
// With OK the item is the consumer's; else it is still the caller's.
thalweg_status thalweg_spsc_try_push(thalweg_spsc_producer *producer,
                                     void *item);

// Pushes `item`, waiting while the queue is full. OK, or CLOSED when every consumer is gone; INVALID if `item` is NULL.
thalweg_status thalweg_spsc_push(thalweg_spsc_producer *producer,
                                 void *item);

// As `thalweg_spsc_push`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_push_timeout(thalweg_spsc_producer *producer, void *item, uint64_t nanoseconds);

// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: as `thalweg_spsc_try_push`, and INVALID if any of them is
// NULL.
thalweg_status thalweg_spsc_try_push_many(thalweg_spsc_producer *producer,
                                          void *const *items,
                                          size_t count,
                                          size_t *pushed);

// Pushes the `count` pointers at `items`, from the first on, waiting while the queue is full, and writes how many to `pushed`.
//
// OK: all of them. Otherwise the rest is still the caller's: CLOSED when every consumer is gone, or INVALID, and none is pushed, if
// any of them is NULL.
thalweg_status thalweg_spsc_push_many(thalweg_spsc_producer *producer,
                                      void *const *items,
                                      size_t count,
                                      size_t *pushed);

// As `thalweg_spsc_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
thalweg_status thalweg_spsc_push_many_timeout(thalweg_spsc_producer *producer,
                                              void *const *items,
                                              size_t count,
                                              size_t *pushed,
                                              uint64_t nanoseconds);

// Whether every consumer is gone. Then it stays so. True for NULL.
bool thalweg_spsc_producer_is_closed(const thalweg_spsc_producer *producer);

// How many items fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
// may fill it, as blocks are given back whole. 0 for NULL.
size_t thalweg_spsc_producer_capacity(const thalweg_spsc_producer *producer);

// Frees the writing end, which closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
void thalweg_spsc_producer_free(thalweg_spsc_producer *producer);

// Pops the oldest item into `item` now, or answers EMPTY, CLOSED, or BUSY where there are many producers. Never waits.
//
// With OK the item is the caller's; else `item` is not written.
thalweg_status thalweg_spsc_try_pop(thalweg_spsc_consumer *consumer,
                                    void **item);

// Pops the oldest item into `item`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
thalweg_status thalweg_spsc_pop(thalweg_spsc_consumer *consumer,
                                void **item);

// As `thalweg_spsc_pop`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_pop_timeout(thalweg_spsc_consumer *consumer, void **item, uint64_t nanoseconds);

// Pops what is there, up to `count` items, the oldest first, to `items`, and writes how many to `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: as `thalweg_spsc_try_pop`.
thalweg_status thalweg_spsc_try_pop_many(thalweg_spsc_consumer *consumer,
                                         void **items,
                                         size_t count,
                                         size_t *popped);

// As `thalweg_spsc_try_pop_many`, waiting for the first item while the queue is empty. OK, or CLOSED when every producer is gone and
// nothing is left.
thalweg_status thalweg_spsc_pop_many(thalweg_spsc_consumer *consumer,
                                     void **items,
                                     size_t count,
                                     size_t *popped);

// As `thalweg_spsc_pop_many`, but answers TIMEOUT after `nanoseconds` without an item.
thalweg_status thalweg_spsc_pop_many_timeout(thalweg_spsc_consumer *consumer,
                                             void **items,
                                             size_t count,
                                             size_t *popped,
                                             uint64_t nanoseconds);

// Whether every producer is gone. Then it stays so; items may still be left. True for NULL.
bool thalweg_spsc_consumer_is_closed(const thalweg_spsc_consumer *consumer);

// How many items are pushed and not popped: at least so many, as pushes go on. 0 for NULL.
//
// Looks at each of them, or at a line of each block: for a report, not for each pop. The writing end does not know.
size_t thalweg_spsc_consumer_len(const thalweg_spsc_consumer *consumer);

// How many items fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
// may fill it, as blocks are given back whole. 0 for NULL.
size_t thalweg_spsc_consumer_capacity(const thalweg_spsc_consumer *consumer);

// Frees the reading end, which closes the queue: pushes get CLOSED from then on. What is in the queue is forgotten, not freed:
// free the producers first and pop until CLOSED if the items own something. Nothing for NULL.
void thalweg_spsc_consumer_free(thalweg_spsc_consumer *consumer);

// A queue for `capacity` entries of `entry_size` bytes each, one producer and one consumer: FastForward, with the entries in its
// slots.
//
// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or send
// pointers to what is larger. At least `capacity` entries fit, and up to 16 more; up to 32 where a pointer has 4 bytes. `wait` is a
// `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`, a buffer of
// `error_size` bytes, which may be NULL.
thalweg_status thalweg_spsc_records_new(size_t entry_size,
                                        size_t capacity,
                                        uint32_t wait,
                                        thalweg_spsc_records_producer **producer,
                                        thalweg_spsc_records_consumer **consumer,
                                        char *error,
                                        size_t error_size);

// A queue of `blocks` blocks with `entries` entries of `entry_size` bytes each, for one producer and one consumer: the block-based
// queue, better for batches and for small entries. Same handles and functions as `thalweg_spsc_records_new`.
//
// `blocks` is a power of two and at least 2, `entries` at least 1. Blocks are given back whole, so FULL means that at least
// `(blocks - 1) * entries + 1` entries are in the queue.
thalweg_status thalweg_spsc_records_new_blocks(size_t entry_size,
                                               size_t blocks,
                                               size_t entries,
                                               uint32_t wait,
                                               thalweg_spsc_records_producer **producer,
                                               thalweg_spsc_records_consumer **consumer,
                                               char *error,
                                               size_t error_size);

// Copies the entry at `entry` into the queue now, or answers FULL, CLOSED, or BUSY where there are many consumers. Never waits.
thalweg_status thalweg_spsc_records_try_push(thalweg_spsc_records_producer *producer,
                                             const void *entry);

// Copies the entry at `entry` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone.
thalweg_status thalweg_spsc_records_push(thalweg_spsc_records_producer *producer,
                                         const void *entry);

// As `thalweg_spsc_records_push`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_records_push_timeout(thalweg_spsc_records_producer *producer,
                                                 const void *entry,
                                                 uint64_t nanoseconds);

// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
// `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: as `thalweg_spsc_records_try_push`.
thalweg_status thalweg_spsc_records_try_push_many(thalweg_spsc_records_producer *producer,
                                                  const void *from,
                                                  size_t count,
                                                  size_t *pushed);

// Copies the `count` entries at `from` into the queue, from the first on, waiting while it is full, and writes how many to `pushed`.
//
// OK: all of them. CLOSED when every consumer is gone: the rest is not pushed.
thalweg_status thalweg_spsc_records_push_many(thalweg_spsc_records_producer *producer,
                                              const void *from,
                                              size_t count,
                                              size_t *pushed);

// As `thalweg_spsc_records_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
thalweg_status thalweg_spsc_records_push_many_timeout(thalweg_spsc_records_producer *producer,
                                                      const void *from,
                                                      size_t count,
                                                      size_t *pushed,
                                                      uint64_t nanoseconds);

// Reserves up to `count` entries, at least one, to be written in place, or answers as `thalweg_spsc_records_try_push`. OK: `entries` gets
// where they are, `granted` how many; else nothing is written. Never waits.
//
// A queue of `thalweg_spsc_records_new` grants one at a time, others what lies in one block. They are the caller's until they are
// committed, or something else is pushed or reserved; nothing is in the queue before the commit.
thalweg_status thalweg_spsc_records_try_reserve(thalweg_spsc_records_producer *producer,
                                                size_t count,
                                                void **entries,
                                                size_t *granted);

// As `thalweg_spsc_records_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone.
thalweg_status thalweg_spsc_records_reserve(thalweg_spsc_records_producer *producer,
                                            size_t count,
                                            void **entries,
                                            size_t *granted);

// As `thalweg_spsc_records_reserve`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_records_reserve_timeout(thalweg_spsc_records_producer *producer,
                                                    size_t count,
                                                    void **entries,
                                                    size_t *granted,
                                                    uint64_t nanoseconds);

// Pushes the first `count` of the entries that are reserved, which are written; the others are free again. OK, or CLOSED when every
// consumer is gone: then none is pushed, and none is reserved any more. INVALID if there are not so many: then they are reserved still.
thalweg_status thalweg_spsc_records_commit(thalweg_spsc_records_producer *producer,
                                           size_t count);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_spsc_records_producer_entry_size(const thalweg_spsc_records_producer *producer);

// Whether every consumer is gone. Then it stays so. True for NULL.
bool thalweg_spsc_records_producer_is_closed(const thalweg_spsc_records_producer *producer);

// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
// may fill it, as blocks are given back whole. 0 for NULL.
size_t thalweg_spsc_records_producer_capacity(const thalweg_spsc_records_producer *producer);

// Frees the writing end, which closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
void thalweg_spsc_records_producer_free(thalweg_spsc_records_producer *producer);

// Copies the oldest entry to `entry` and takes it from the queue now, or answers EMPTY, CLOSED, or BUSY where there are many
// producers. Never waits.
//
// `entry` is written only with OK.
thalweg_status thalweg_spsc_records_try_pop(thalweg_spsc_records_consumer *consumer,
                                            void *entry);

// Copies the oldest entry to `entry` and takes it from the queue, waiting while it is empty. OK, or CLOSED when every producer is
// gone and nothing is left.
thalweg_status thalweg_spsc_records_pop(thalweg_spsc_records_consumer *consumer,
                                        void *entry);

// As `thalweg_spsc_records_pop`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_records_pop_timeout(thalweg_spsc_records_consumer *consumer,
                                                void *entry,
                                                uint64_t nanoseconds);

// Copies what is there, up to `count` entries, the oldest first, to `to`, takes it from the queue, and writes how many to
// `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: as `thalweg_spsc_records_try_pop`.
thalweg_status thalweg_spsc_records_try_pop_many(thalweg_spsc_records_consumer *consumer,
                                                 void *to,
                                                 size_t count,
                                                 size_t *popped);

// As `thalweg_spsc_records_try_pop_many`, waiting for the first entry while the queue is empty. OK, or CLOSED when every producer is
// gone and nothing is left.
thalweg_status thalweg_spsc_records_pop_many(thalweg_spsc_records_consumer *consumer,
                                             void *to,
                                             size_t count,
                                             size_t *popped);

// As `thalweg_spsc_records_pop_many`, but answers TIMEOUT after `nanoseconds` without an entry.
thalweg_status thalweg_spsc_records_pop_many_timeout(thalweg_spsc_records_consumer *consumer,
                                                     void *to,
                                                     size_t count,
                                                     size_t *popped,
                                                     uint64_t nanoseconds);

// Gives up to `count` entries, at least one, the oldest first, to be read in place, or answers as `thalweg_spsc_records_try_pop`. OK:
// `entries` gets where they are, `granted` how many; else nothing is written. Never waits.
//
// A queue of `thalweg_spsc_records_new` grants one at a time, others what lies in one block. They stay in the queue, and are the
// caller's, until they are released, or something else is popped or read.
thalweg_status thalweg_spsc_records_try_read(thalweg_spsc_records_consumer *consumer,
                                             size_t count,
                                             void **entries,
                                             size_t *granted);

// As `thalweg_spsc_records_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
thalweg_status thalweg_spsc_records_read(thalweg_spsc_records_consumer *consumer,
                                         size_t count,
                                         void **entries,
                                         size_t *granted);

// As `thalweg_spsc_records_read`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_spsc_records_read_timeout(thalweg_spsc_records_consumer *consumer,
                                                 size_t count,
                                                 void **entries,
                                                 size_t *granted,
                                                 uint64_t nanoseconds);

// Takes the first `count` of the entries that are being read from the queue; the others are the next to be popped. OK, or INVALID if
// there are not so many: then they are being read still.
thalweg_status thalweg_spsc_records_release(thalweg_spsc_records_consumer *consumer,
                                            size_t count);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_spsc_records_consumer_entry_size(const thalweg_spsc_records_consumer *consumer);

// Whether every producer is gone. Then it stays so; entries may still be left. True for NULL.
bool thalweg_spsc_records_consumer_is_closed(const thalweg_spsc_records_consumer *consumer);

// How many entries are pushed and not popped: at least so many, as pushes go on. 0 for NULL.
//
// Looks at each of them, or at a line of each block: for a report, not for each pop. The writing end does not know.
size_t thalweg_spsc_records_consumer_len(const thalweg_spsc_records_consumer *consumer);

// How many entries fit for certain; of a queue of blocks, how many entries all blocks have, of which as few as `capacity - entries + 1`
// may fill it, as blocks are given back whole. 0 for NULL.
size_t thalweg_spsc_records_consumer_capacity(const thalweg_spsc_records_consumer *consumer);

// Frees the reading end, which closes the queue: pushes get CLOSED from then on, and what is in the queue is discarded. Nothing for
// NULL.
void thalweg_spsc_records_consumer_free(thalweg_spsc_records_consumer *consumer);

// A queue of `blocks` blocks with `entries` pointers each, for any number of producers and consumers: the block-based bounded queue
// in retry-new mode.
//
// `blocks` is a power of two and at least 2, `entries` at least 1; `thalweg_bbq_blocks` has a good number for a capacity. `wait` is
// a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to `error`, a
// buffer of `error_size` bytes, which may be NULL.
thalweg_status thalweg_bbq_new(size_t blocks,
                               size_t entries,
                               uint32_t wait,
                               thalweg_bbq_producer **producer,
                               thalweg_bbq_consumer **consumer,
                               char *error,
                               size_t error_size);

// As `thalweg_bbq_new`, but for one consumer, whose pops are cheaper then.
//
// It is the handle of `thalweg_spsc_*`, which one thread at a time uses and which has no clone. The producers are as ever, but never BUSY:
// what they push, NULL too, is what it pops.
thalweg_status thalweg_bbq_new_mpsc(size_t blocks,
                                    size_t entries,
                                    uint32_t wait,
                                    thalweg_bbq_producer **producer,
                                    thalweg_spsc_consumer **consumer,
                                    char *error,
                                    size_t error_size);

// As `thalweg_bbq_new`, but for one producer, whose pushes are cheaper then.
//
// It is the handle of `thalweg_spsc_*`, which one thread at a time uses and which has no clone, and refuses NULL. The consumers are as
// ever, but never BUSY.
thalweg_status thalweg_bbq_new_spmc(size_t blocks,
                                    size_t entries,
                                    uint32_t wait,
                                    thalweg_spsc_producer **producer,
                                    thalweg_bbq_consumer **consumer,
                                    char *error,
                                    size_t error_size);

// How many blocks a queue of `capacity` entries should have.
size_t thalweg_bbq_blocks(size_t capacity);

// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
thalweg_bbq_producer *thalweg_bbq_producer_clone(const thalweg_bbq_producer *producer);

// Pushes `item`, which may be NULL, now, or answers FULL, BUSY or CLOSED. Never waits.
//
// With OK the item is the consumers'; else it is still the caller's.
thalweg_status thalweg_bbq_try_push(const thalweg_bbq_producer *producer, void *item);

// Pushes `item`, waiting while the queue is full. OK, or CLOSED when every consumer is gone.
thalweg_status thalweg_bbq_push(const thalweg_bbq_producer *producer, void *item);

// As `thalweg_bbq_push`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_bbq_push_timeout(const thalweg_bbq_producer *producer,
                                        void *item,
                                        uint64_t nanoseconds);

// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL, BUSY or CLOSED.
//
// Those of one block stand one behind the other in the queue; between blocks others may come in.
thalweg_status thalweg_bbq_try_push_many(const thalweg_bbq_producer *producer,
                                         void *const *items,
                                         size_t count,
                                         size_t *pushed);

// Pushes the `count` pointers at `items`, from the first on, waiting while the queue is full, and writes how many to `pushed`.
//
// OK: all of them. Otherwise the rest is still the caller's: CLOSED when every consumer is gone.
thalweg_status thalweg_bbq_push_many(const thalweg_bbq_producer *producer,
                                     void *const *items,
                                     size_t count,
                                     size_t *pushed);

// As `thalweg_bbq_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
thalweg_status thalweg_bbq_push_many_timeout(const thalweg_bbq_producer *producer,
                                             void *const *items,
                                             size_t count,
                                             size_t *pushed,
                                             uint64_t nanoseconds);

// Whether every consumer is gone. Then it stays so. True for NULL.
bool thalweg_bbq_producer_is_closed(const thalweg_bbq_producer *producer);

// How many items are pushed and not popped, lately. Exact when nobody else uses the queue. 0 for NULL.
size_t thalweg_bbq_producer_len(const thalweg_bbq_producer *producer);

// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are reused whole.
// 0 for NULL.
size_t thalweg_bbq_producer_capacity(const thalweg_bbq_producer *producer);

// Frees a writing end. The last one closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
void thalweg_bbq_producer_free(thalweg_bbq_producer *producer);

// Another reading end of the same queue, for the caller to free. NULL for NULL.
thalweg_bbq_consumer *thalweg_bbq_consumer_clone(const thalweg_bbq_consumer *consumer);

// Pops the oldest item into `item` now, or answers EMPTY, BUSY or CLOSED. Never waits.
//
// With OK the item is the caller's; else `item` is not written.
thalweg_status thalweg_bbq_try_pop(const thalweg_bbq_consumer *consumer, void **item);

// Pops the oldest item into `item`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left.
thalweg_status thalweg_bbq_pop(const thalweg_bbq_consumer *consumer,
                               void **item);

// As `thalweg_bbq_pop`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_bbq_pop_timeout(const thalweg_bbq_consumer *consumer,
                                       void **item,
                                       uint64_t nanoseconds);

// Pops what is there, up to `count` items, the oldest first, to `items`, and writes how many to `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, BUSY or CLOSED.
thalweg_status thalweg_bbq_try_pop_many(const thalweg_bbq_consumer *consumer,
                                        void **items,
                                        size_t count,
                                        size_t *popped);

// As `thalweg_bbq_try_pop_many`, waiting for the first item while the queue is empty. OK, or CLOSED when every producer is gone and
// nothing is left.
thalweg_status thalweg_bbq_pop_many(const thalweg_bbq_consumer *consumer,
                                    void **items,
                                    size_t count,
                                    size_t *popped);

// As `thalweg_bbq_pop_many`, but answers TIMEOUT after `nanoseconds` without an item.
thalweg_status thalweg_bbq_pop_many_timeout(const thalweg_bbq_consumer *consumer,
                                            void **items,
                                            size_t count,
                                            size_t *popped,
                                            uint64_t nanoseconds);

// Whether every producer is gone. Then it stays so; items may still be left. True for NULL.
bool thalweg_bbq_consumer_is_closed(const thalweg_bbq_consumer *consumer);

// How many items are pushed and not popped, lately. Exact when nobody else uses the queue. 0 for NULL.
size_t thalweg_bbq_consumer_len(const thalweg_bbq_consumer *consumer);

// How many entries all blocks have. As few as `capacity - entries + 1` items may fill the queue, as blocks are reused whole.
// 0 for NULL.
size_t thalweg_bbq_consumer_capacity(const thalweg_bbq_consumer *consumer);

// Frees a reading end. With the last one the queue closes: pushes get CLOSED from then on, and what is in the queue is forgotten, not
// freed. Free the producers first and pop until CLOSED if the items own something. Nothing for NULL.
void thalweg_bbq_consumer_free(thalweg_bbq_consumer *consumer);

// A queue of `blocks` blocks with `entries` entries of `entry_size` bytes each, for any number of producers and consumers: the
// block-based bounded queue in retry-new mode.
//
// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or send
// pointers to what is larger. `blocks` is a power of two and at least 2, `entries` at least 1; `thalweg_bbq_blocks` has a good number
// for a capacity. `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the
// reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
thalweg_status thalweg_records_new(size_t entry_size,
                                   size_t blocks,
                                   size_t entries,
                                   uint32_t wait,
                                   thalweg_records_producer **producer,
                                   thalweg_records_consumer **consumer,
                                   char *error,
                                   size_t error_size);

// As `thalweg_records_new`, but for one consumer, whose pops are cheaper then.
//
// It is the handle of `thalweg_spsc_records_*`, which one thread at a time uses and which has no clone. The producers are as ever, but
// never BUSY.
thalweg_status thalweg_records_new_mpsc(size_t entry_size,
                                        size_t blocks,
                                        size_t entries,
                                        uint32_t wait,
                                        thalweg_records_producer **producer,
                                        thalweg_spsc_records_consumer **consumer,
                                        char *error,
                                        size_t error_size);

// As `thalweg_records_new`, but for one producer, whose pushes are cheaper then.
//
// It is the handle of `thalweg_spsc_records_*`, which one thread at a time uses and which has no clone. The consumers are as ever, but
// never BUSY.
thalweg_status thalweg_records_new_spmc(size_t entry_size,
                                        size_t blocks,
                                        size_t entries,
                                        uint32_t wait,
                                        thalweg_spsc_records_producer **producer,
                                        thalweg_records_consumer **consumer,
                                        char *error,
                                        size_t error_size);

// As `thalweg_records_new`, in drop-old mode: a push overwrites the oldest block instead of answering FULL, and what was overwritten is
// passed over and counted.
//
// For traces and samples. The newest `(blocks - 1) * entries` entries are kept. A push answers BUSY while another one, begun a whole
// round ago, is half-way. Every byte of an entry has to be written, its padding too. What waits waits for that, and for entries to pop.
thalweg_status thalweg_records_new_drop_old(size_t entry_size,
                                            size_t blocks,
                                            size_t entries,
                                            uint32_t wait,
                                            thalweg_records_producer **producer,
                                            thalweg_records_consumer **consumer,
                                            char *error,
                                            size_t error_size);

// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
thalweg_records_producer *thalweg_records_producer_clone(const thalweg_records_producer *producer);

// Copies the entry at `entry` into the queue now, or answers FULL, BUSY or CLOSED. Never waits.
thalweg_status thalweg_records_try_push(const thalweg_records_producer *producer, const void *entry);

// Copies the entry at `entry` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone.
thalweg_status thalweg_records_push(const thalweg_records_producer *producer,
                                    const void *entry);

// As `thalweg_records_push`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_records_push_timeout(const thalweg_records_producer *producer,
                                            const void *entry,
                                            uint64_t nanoseconds);

// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
// `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL, BUSY or CLOSED. Those of one block stand one
// behind the other in the queue; between blocks others may come in.
thalweg_status thalweg_records_try_push_many(const thalweg_records_producer *producer,
                                             const void *from,
                                             size_t count,
                                             size_t *pushed);

// Copies the `count` entries at `from` into the queue, from the first on, waiting while it is full, and writes how many to `pushed`.
//
// OK: all of them. CLOSED when every consumer is gone: the rest is not pushed.
thalweg_status thalweg_records_push_many(const thalweg_records_producer *producer,
                                         const void *from,
                                         size_t count,
                                         size_t *pushed);

// As `thalweg_records_push_many`, but answers TIMEOUT after `nanoseconds` if some are left.
thalweg_status thalweg_records_push_many_timeout(const thalweg_records_producer *producer,
                                                 const void *from,
                                                 size_t count,
                                                 size_t *pushed,
                                                 uint64_t nanoseconds);

// Reserves up to `count` entries, at least one, to be written in place, or answers FULL, BUSY or CLOSED. OK: `entries` gets where they
// are, `granted` how many, `grant` what `thalweg_records_commit` asks for; else nothing is written. Never waits. INVALID in drop-old mode.
//
// Their place in the order of the queue is taken, and consumers wait for them: write them soon.
thalweg_status thalweg_records_try_reserve(const thalweg_records_producer *producer,
                                           size_t count,
                                           void **entries,
                                           size_t *granted,
                                           thalweg_records_grant *grant);

// As `thalweg_records_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone; INVALID in drop-old mode.
thalweg_status thalweg_records_reserve(const thalweg_records_producer *producer,
                                       size_t count,
                                       void **entries,
                                       size_t *granted,
                                       thalweg_records_grant *grant);

// As `thalweg_records_reserve`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_records_reserve_timeout(const thalweg_records_producer *producer,
                                               size_t count,
                                               void **entries,
                                               size_t *granted,
                                               thalweg_records_grant *grant,
                                               uint64_t nanoseconds);

// Pushes the first `count` of the entries that were reserved, which are written; consumers pass over the others. OK, also when every
// consumer is gone. INVALID if there are not so many: then the grant is still open.
thalweg_status thalweg_records_commit(const thalweg_records_producer *producer,
                                      thalweg_records_grant grant,
                                      size_t count);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_records_producer_entry_size(const thalweg_records_producer *producer);

// Whether every consumer is gone. Then it stays so. True for NULL.
bool thalweg_records_producer_is_closed(const thalweg_records_producer *producer);

// How many entries are pushed and neither popped nor overwritten, lately. Exact when nobody else uses the queue and none was given up
// that was reserved: what is reserved counts, and what of it is not pushed, until a pop has passed it. 0 for NULL.
size_t thalweg_records_producer_len(const thalweg_records_producer *producer);

// How many entries all blocks have. As few as `capacity - entries + 1` may fill the queue, as blocks are reused whole; in drop-old
// mode, as few as `capacity - entries` are kept. 0 for NULL.
size_t thalweg_records_producer_capacity(const thalweg_records_producer *producer);

// Frees a writing end, none of whose grants is open. The last one closes the queue: consumers pop what is left and then get CLOSED. Nothing for NULL.
void thalweg_records_producer_free(thalweg_records_producer *producer);

// Another reading end of the same queue, for the caller to free. NULL for NULL.
thalweg_records_consumer *thalweg_records_consumer_clone(const thalweg_records_consumer *consumer);

// Copies the oldest entry to `entry` and takes it from the queue now, or answers EMPTY, BUSY or CLOSED. Never waits.
//
// `entry` is written only with OK.
thalweg_status thalweg_records_try_pop(const thalweg_records_consumer *consumer,
                                       void *entry);

// Copies the oldest entry to `entry` and takes it from the queue, waiting while it is empty. OK, or CLOSED when every producer is
// gone and nothing is left.
thalweg_status thalweg_records_pop(const thalweg_records_consumer *consumer,
                                   void *entry);

// As `thalweg_records_pop`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_records_pop_timeout(const thalweg_records_consumer *consumer,
                                           void *entry,
                                           uint64_t nanoseconds);

// Copies what is there, up to `count` entries, the oldest first, to `to`, takes it from the queue, and writes how many to
// `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, BUSY or CLOSED.
thalweg_status thalweg_records_try_pop_many(const thalweg_records_consumer *consumer,
                                            void *to,
                                            size_t count,
                                            size_t *popped);

// As `thalweg_records_try_pop_many`, waiting for the first entry while the queue is empty. OK, or CLOSED when every producer is
// gone and nothing is left.
thalweg_status thalweg_records_pop_many(const thalweg_records_consumer *consumer,
                                        void *to,
                                        size_t count,
                                        size_t *popped);

// As `thalweg_records_pop_many`, but answers TIMEOUT after `nanoseconds` without an entry.
thalweg_status thalweg_records_pop_many_timeout(const thalweg_records_consumer *consumer,
                                                void *to,
                                                size_t count,
                                                size_t *popped,
                                                uint64_t nanoseconds);

// Takes up to `count` entries from the queue, at least one, the oldest first, to be read in place, or answers EMPTY, BUSY or CLOSED. OK:
// `entries` gets where they are, `taken` how many, `grant` what `thalweg_records_release` asks for; else nothing is written. Never
// waits. INVALID in drop-old mode.
//
// Their memory is used again only after the release.
thalweg_status thalweg_records_try_read(const thalweg_records_consumer *consumer,
                                        size_t count,
                                        void **entries,
                                        size_t *taken,
                                        thalweg_records_grant *grant);

// As `thalweg_records_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left; INVALID
// in drop-old mode.
thalweg_status thalweg_records_read(const thalweg_records_consumer *consumer,
                                    size_t count,
                                    void **entries,
                                    size_t *taken,
                                    thalweg_records_grant *grant);

// As `thalweg_records_read`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_records_read_timeout(const thalweg_records_consumer *consumer,
                                            size_t count,
                                            void **entries,
                                            size_t *taken,
                                            thalweg_records_grant *grant,
                                            uint64_t nanoseconds);

// Gives the memory of entries back that were read. INVALID for NULL, else OK.
thalweg_status thalweg_records_release(const thalweg_records_consumer *consumer, thalweg_records_grant grant);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_records_consumer_entry_size(const thalweg_records_consumer *consumer);

// Whether every producer is gone. Then it stays so; items may still be left. True for NULL.
bool thalweg_records_consumer_is_closed(const thalweg_records_consumer *consumer);

// How many entries are pushed and neither popped nor overwritten, lately. Exact when nobody else uses the queue and none was given up
// that was reserved: what is reserved counts, and what of it is not pushed, until a pop has passed it. 0 for NULL.
size_t thalweg_records_consumer_len(const thalweg_records_consumer *consumer);

// How many entries all blocks have. As few as `capacity - entries + 1` may fill the queue, as blocks are reused whole; in drop-old
// mode, as few as `capacity - entries` are kept. 0 for NULL.
size_t thalweg_records_consumer_capacity(const thalweg_records_consumer *consumer);

// How many entries all consumers of the queue have found overwritten and passed over, so far. 0 for a queue that is not in drop-old
// mode, and for NULL.
uint64_t thalweg_records_consumer_dropped(const thalweg_records_consumer *consumer);

// Frees a reading end, none of whose grants is open. With the last one the queue closes: pushes get CLOSED from then on, and what is in the queue is discarded.
// Nothing for NULL.
void thalweg_records_consumer_free(thalweg_records_consumer *consumer);

// A queue of `blocks` blocks of `block_bytes` bytes each, rounded up to a multiple of 16, for any number of producers and consumers: the
// block-based bounded queue with variable-sized entries, in retry-new mode.
//
// A message has at most as many bytes as a block, lies in one piece, and starts at a multiple of 16. `blocks` is a power of two and at
// least 2. `wait` is a `thalweg_wait`. OK: the caller owns both handles and frees each. INVALID: nothing is written but the reason, to
// `error`, a buffer of `error_size` bytes, which may be NULL.
thalweg_status thalweg_bytes_new(size_t blocks,
                                 size_t block_bytes,
                                 uint32_t wait,
                                 thalweg_bytes_producer **producer,
                                 thalweg_bytes_consumer **consumer,
                                 char *error,
                                 size_t error_size);

// As `thalweg_bytes_new`, but in drop-old mode: a push that finds no room overwrites the oldest block, so it is never FULL, and pops
// pass over what was overwritten. For traces, log lines and the like.
//
// Messages are copied in and out: reserving and reading in place are INVALID.
thalweg_status thalweg_bytes_new_drop_old(size_t blocks,
                                          size_t block_bytes,
                                          uint32_t wait,
                                          thalweg_bytes_producer **producer,
                                          thalweg_bytes_consumer **consumer,
                                          char *error,
                                          size_t error_size);

// Another writing end of the same queue, for the caller to free. The queue closes when the last one is freed. NULL for NULL.
thalweg_bytes_producer *thalweg_bytes_producer_clone(const thalweg_bytes_producer *producer);

// Copies the message of `size` bytes at `from` into the queue now, or answers FULL, BUSY, CLOSED, or INVALID if it never fits. Never
// waits.
//
// Every byte of it has to be written, its padding too.
thalweg_status thalweg_bytes_try_push(const thalweg_bytes_producer *producer,
                                      const void *from,
                                      size_t size);

// Copies the message of `size` bytes at `from` into the queue, waiting while it is full. OK, or CLOSED when every consumer is gone, or
// INVALID if it never fits.
thalweg_status thalweg_bytes_push(const thalweg_bytes_producer *producer,
                                  const void *from,
                                  size_t size);

// As `thalweg_bytes_push`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_bytes_push_timeout(const thalweg_bytes_producer *producer,
                                          const void *from,
                                          size_t size,
                                          uint64_t nanoseconds);

// Reserves a message of `size` bytes now, or answers as `thalweg_bytes_try_push`. OK: `bytes` gets where it is to be written, `grant`
// what `thalweg_bytes_commit` or `thalweg_bytes_abandon` asks for; else nothing is written. INVALID in drop-old mode.
//
// Its place in the order of the queue is taken, and consumers wait for it: write it soon. The bytes are at first what was there before.
thalweg_status thalweg_bytes_try_reserve(const thalweg_bytes_producer *producer,
                                         size_t size,
                                         void **bytes,
                                         thalweg_bytes_grant *grant);

// As `thalweg_bytes_try_reserve`, waiting while the queue is full. OK, or CLOSED when every consumer is gone, or INVALID if it never fits
// and in drop-old mode.
thalweg_status thalweg_bytes_reserve(const thalweg_bytes_producer *producer,
                                     size_t size,
                                     void **bytes,
                                     thalweg_bytes_grant *grant);

// As `thalweg_bytes_reserve`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_bytes_reserve_timeout(const thalweg_bytes_producer *producer,
                                             size_t size,
                                             void **bytes,
                                             thalweg_bytes_grant *grant,
                                             uint64_t nanoseconds);

// Pushes the first `size` bytes of what was reserved as the message. OK, also when every consumer is gone. INVALID if there are not so
// many: then the grant is still open.
thalweg_status thalweg_bytes_commit(const thalweg_bytes_producer *producer,
                                    thalweg_bytes_grant grant,
                                    size_t size);

// Gives back what was reserved: there is no message. INVALID for NULL, else OK.
thalweg_status thalweg_bytes_abandon(const thalweg_bytes_producer *producer, thalweg_bytes_grant grant);

// How many bytes the largest message may have. 0 for NULL.
size_t thalweg_bytes_producer_max_message(const thalweg_bytes_producer *producer);

// How many bytes all blocks have. 0 for NULL.
size_t thalweg_bytes_producer_capacity(const thalweg_bytes_producer *producer);

// How many bytes the messages take that are pushed and neither popped nor overwritten, lately: each rounded up to a multiple of 16,
// what is left over at the ends of blocks, and what is reserved. What is given up counts while something is in the queue before it.
// Exact when nobody else uses the queue. 0 for NULL.
size_t thalweg_bytes_producer_len(const thalweg_bytes_producer *producer);

// Whether every consumer is gone. Then it stays so. True for NULL.
bool thalweg_bytes_producer_is_closed(const thalweg_bytes_producer *producer);

// Frees a writing end, none of whose grants is open. The last one closes the queue: consumers read what is left and then get CLOSED.
// Nothing for NULL.
void thalweg_bytes_producer_free(thalweg_bytes_producer *producer);

// Another reading end of the same queue, for the caller to free. NULL for NULL.
thalweg_bytes_consumer *thalweg_bytes_consumer_clone(const thalweg_bytes_consumer *consumer);

// Copies the oldest message to `to`, writes how many bytes it has to `size`, and takes it from the queue now, or answers EMPTY, BUSY or
// CLOSED. Never waits.
//
// `room` says how many bytes fit at `to`: not fewer than the largest message has (`thalweg_bytes_consumer_max_message`), or it is
// INVALID. With any answer but OK `size` gets 0, and `to` is not written, except in drop-old mode: there it may hold what somebody else
// has popped or overwritten meanwhile, also behind a message.
thalweg_status thalweg_bytes_try_pop(const thalweg_bytes_consumer *consumer,
                                     void *to,
                                     size_t room,
                                     size_t *size);

// As `thalweg_bytes_try_pop`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left: then `size`
// gets 0, and `to` is as there.
thalweg_status thalweg_bytes_pop(const thalweg_bytes_consumer *consumer,
                                 void *to,
                                 size_t room,
                                 size_t *size);

// As `thalweg_bytes_pop`, but answers TIMEOUT after `nanoseconds`: `size` gets 0 then, too.
thalweg_status thalweg_bytes_pop_timeout(const thalweg_bytes_consumer *consumer,
                                         void *to,
                                         size_t room,
                                         size_t *size,
                                         uint64_t nanoseconds);

// Takes the oldest message from the queue now, to be read in place, or answers EMPTY, BUSY or CLOSED. OK: `bytes` gets where it is,
// `size` how many bytes it has, `grant` what `thalweg_bytes_release` asks for; else nothing is written. Never waits. INVALID in drop-old
// mode.
//
// Its memory is used again only after the release.
thalweg_status thalweg_bytes_try_read(const thalweg_bytes_consumer *consumer,
                                      const void **bytes,
                                      size_t *size,
                                      thalweg_bytes_grant *grant);

// As `thalweg_bytes_try_read`, waiting while the queue is empty. OK, or CLOSED when every producer is gone and nothing is left; INVALID in
// drop-old mode.
thalweg_status thalweg_bytes_read(const thalweg_bytes_consumer *consumer,
                                  const void **bytes,
                                  size_t *size,
                                  thalweg_bytes_grant *grant);

// As `thalweg_bytes_read`, but answers TIMEOUT after `nanoseconds`.
thalweg_status thalweg_bytes_read_timeout(const thalweg_bytes_consumer *consumer,
                                          const void **bytes,
                                          size_t *size,
                                          thalweg_bytes_grant *grant,
                                          uint64_t nanoseconds);

// Gives the memory of a message back that was read. INVALID for NULL, else OK.
thalweg_status thalweg_bytes_release(const thalweg_bytes_consumer *consumer, thalweg_bytes_grant grant);

// How many bytes the largest message may have. 0 for NULL.
size_t thalweg_bytes_consumer_max_message(const thalweg_bytes_consumer *consumer);

// How many bytes all blocks have. 0 for NULL.
size_t thalweg_bytes_consumer_capacity(const thalweg_bytes_consumer *consumer);

// How many bytes the messages take that are pushed and neither popped nor overwritten, lately: each rounded up to a multiple of 16,
// what is left over at the ends of blocks, and what is reserved. What is given up counts while something is in the queue before it.
// Exact when nobody else uses the queue. 0 for NULL.
size_t thalweg_bytes_consumer_len(const thalweg_bytes_consumer *consumer);

// How many bytes, as in `thalweg_bytes_consumer_len`, all consumers of the queue have found overwritten and passed over, so far. 0 for
// a queue that is not in drop-old mode, and for NULL.
uint64_t thalweg_bytes_consumer_dropped(const thalweg_bytes_consumer *consumer);

// Whether every producer is gone. Then it stays so; messages may still be left. True for NULL.
bool thalweg_bytes_consumer_is_closed(const thalweg_bytes_consumer *consumer);

// Frees a reading end, none of whose grants is open. With the last one the queue closes: pushes get CLOSED from then on, and what is in
// the queue is discarded. Nothing for NULL.
void thalweg_bytes_consumer_free(thalweg_bytes_consumer *consumer);

// A work-stealing stack of `blocks` blocks with `entries` pointers each: the owner pops what it pushed last.
//
// At least 2 blocks, at least 1 entry; 8 blocks of 64 cost the owner nothing. OK: the caller owns both handles and frees each.
// INVALID: nothing is written but the reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
//
// Thieves see what the owner has left behind in other blocks, and what it has shared. No function of this family waits.
thalweg_status thalweg_bwos_new_lifo(size_t blocks,
                                     size_t entries,
                                     thalweg_bwos_owner **owner,
                                     thalweg_bwos_thief **thief,
                                     char *error,
                                     size_t error_size);

// As `thalweg_bwos_new_lifo`, but a queue: the owner pops what it pushed first.
thalweg_status thalweg_bwos_new_fifo(size_t blocks,
                                     size_t entries,
                                     thalweg_bwos_owner **owner,
                                     thalweg_bwos_thief **thief,
                                     char *error,
                                     size_t error_size);

// Pushes `item`, which may be NULL.
//
// FULL: every block holds an item; do the task now. BUSY: thieves are still reading in the only free blocks. Never CLOSED.
thalweg_status thalweg_bwos_push(thalweg_bwos_owner *owner,
                                 void *item);

// Pops into `item` what was pushed last (LIFO) or first (FIFO), of what thieves have left. EMPTY if they have left nothing.
//
// With OK the item is the caller's; else `item` is not written.
thalweg_status thalweg_bwos_pop(thalweg_bwos_owner *owner,
                                void **item);

// Pushes as many of `count` pointers at `items` as there is room for, from the first on, and writes how many to `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL or BUSY, as for one.
thalweg_status thalweg_bwos_push_many(thalweg_bwos_owner *owner,
                                      void *const *items,
                                      size_t count,
                                      size_t *pushed);

// Pops up to `count` items to `items`, in the order of `thalweg_bwos_pop`, and writes how many to `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, as for one.
thalweg_status thalweg_bwos_pop_many(thalweg_bwos_owner *owner, void **items, size_t count, size_t *popped);

// Lets thieves take everything that is in the queue now. For before a task that is long or waits. INVALID for NULL, else OK.
thalweg_status thalweg_bwos_share(thalweg_bwos_owner *owner);

// How many items are left, now or lately. Exact when nobody steals. 0 for NULL.
size_t thalweg_bwos_owner_len(const thalweg_bwos_owner *owner);

// How many entries all blocks have. Thieves can leave gaps: only `blocks` items are certain to fit. 0 for NULL.
size_t thalweg_bwos_owner_capacity(const thalweg_bwos_owner *owner);

// Frees the owner, which leaves all items to the thieves and closes the queue. Nothing for NULL.
void thalweg_bwos_owner_free(thalweg_bwos_owner *owner);

// A thief of the owner's queue, for the caller to free: also when all that there were are freed. NULL for NULL.
thalweg_bwos_thief *thalweg_bwos_thief_new(const thalweg_bwos_owner *owner);

// Another thief of the same queue, for the caller to free. NULL for NULL.
thalweg_bwos_thief *thalweg_bwos_thief_clone(const thalweg_bwos_thief *thief);

// Steals an item into `item`, from the oldest block that is known to have one.
//
// EMPTY: nothing is granted; the owner may still hold items. BUSY: others came first. CLOSED: the owner is gone and nothing is left.
// With OK the item is the caller's; else `item` is not written.
thalweg_status thalweg_bwos_steal(thalweg_bwos_thief *thief,
                                  void **item);

// Steals up to `count` items of one block, the oldest first, to `items`, and writes how many to `stolen`. A whole block costs hardly
// more than one item.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `stolen` gets 0: EMPTY, BUSY or CLOSED, as for one.
thalweg_status thalweg_bwos_steal_many(thalweg_bwos_thief *thief,
                                       void **items,
                                       size_t count,
                                       size_t *stolen);

// How many items are granted, now or lately: what thieves could take. 0 for NULL.
size_t thalweg_bwos_thief_len(const thalweg_bwos_thief *thief);

// How many entries all blocks have. 0 for NULL.
size_t thalweg_bwos_thief_capacity(const thalweg_bwos_thief *thief);

// Whether the owner is gone. Then it stays so; items may still be left. True for NULL.
bool thalweg_bwos_thief_is_closed(const thalweg_bwos_thief *thief);

// Frees a thief. When it was the last handle, what is in the queue is forgotten, not freed: free the owner first and steal until
// CLOSED if the items own something. Nothing for NULL.
void thalweg_bwos_thief_free(thalweg_bwos_thief *thief);

// A work-stealing stack of `blocks` blocks with `entries` entries of `entry_size` bytes each: the owner pops what it pushed last.
//
// Entries are copied in and out and may stand at any address. `entry_size` is a power of two from 1 to 256: round up, or push
// pointers to what is larger. At least 2 blocks, at least 1 entry; 8 blocks of 64 cost the owner nothing. OK: the caller owns both
// handles and frees each. INVALID: nothing is written but the reason, to `error`, a buffer of `error_size` bytes, which may be NULL.
//
// Thieves see what the owner has left behind in other blocks, and what it has shared. No function of this family waits.
thalweg_status thalweg_bwos_records_new_lifo(size_t entry_size,
                                             size_t blocks,
                                             size_t entries,
                                             thalweg_bwos_records_owner **owner,
                                             thalweg_bwos_records_thief **thief,
                                             char *error,
                                             size_t error_size);

// As `thalweg_bwos_records_new_lifo`, but a queue: the owner pops what it pushed first.
thalweg_status thalweg_bwos_records_new_fifo(size_t entry_size,
                                             size_t blocks,
                                             size_t entries,
                                             thalweg_bwos_records_owner **owner,
                                             thalweg_bwos_records_thief **thief,
                                             char *error,
                                             size_t error_size);

// Copies the entry at `entry` into the queue.
//
// FULL: every block holds an entry; do the task now. BUSY: thieves are still reading in the only free blocks. Never CLOSED.
thalweg_status thalweg_bwos_records_push(thalweg_bwos_records_owner *owner,
                                         const void *entry);

// Copies to `entry` what was pushed last (LIFO) or first (FIFO), of what thieves have left, and takes it from the queue. EMPTY if
// they have left nothing.
//
// `entry` is written only with OK.
thalweg_status thalweg_bwos_records_pop(thalweg_bwos_records_owner *owner,
                                        void *entry);

// Copies as many of the `count` entries at `from` as there is room for into the queue, from the first on, and writes how many to
// `pushed`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `pushed` gets 0: FULL or BUSY, as for one.
thalweg_status thalweg_bwos_records_push_many(thalweg_bwos_records_owner *owner,
                                              const void *from,
                                              size_t count,
                                              size_t *pushed);

// Copies up to `count` entries to `to`, in the order of `thalweg_bwos_records_pop`, takes them from the queue, and writes how many to
// `popped`.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `popped` gets 0: EMPTY, as for one.
thalweg_status thalweg_bwos_records_pop_many(thalweg_bwos_records_owner *owner,
                                             void *to,
                                             size_t count,
                                             size_t *popped);

// Lets thieves take everything that is in the queue now. For before a task that is long or waits. INVALID for NULL, else OK.
thalweg_status thalweg_bwos_records_share(thalweg_bwos_records_owner *owner);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_bwos_records_owner_entry_size(const thalweg_bwos_records_owner *owner);

// How many entries are left, now or lately. Exact when nobody steals. 0 for NULL.
size_t thalweg_bwos_records_owner_len(const thalweg_bwos_records_owner *owner);

// How many entries all blocks have. Thieves can leave gaps: only `blocks` entries are certain to fit. 0 for NULL.
size_t thalweg_bwos_records_owner_capacity(const thalweg_bwos_records_owner *owner);

// Frees the owner, which leaves all entries to the thieves and closes the queue. Nothing for NULL.
void thalweg_bwos_records_owner_free(thalweg_bwos_records_owner *owner);

// A thief of the owner's queue, for the caller to free: also when all that there were are freed. NULL for NULL.
thalweg_bwos_records_thief *thalweg_bwos_records_thief_new(const thalweg_bwos_records_owner *owner);

// Another thief of the same queue, for the caller to free. NULL for NULL.
thalweg_bwos_records_thief *thalweg_bwos_records_thief_clone(const thalweg_bwos_records_thief *thief);

// Steals an entry, from the oldest block that is known to have one: copies it to `entry` and takes it from the queue.
//
// EMPTY: nothing is granted; the owner may still hold entries. BUSY: others came first. CLOSED: the owner is gone and nothing is left.
// `entry` is written only with OK.
thalweg_status thalweg_bwos_records_steal(thalweg_bwos_records_thief *thief,
                                          void *entry);

// Steals up to `count` entries of one block, the oldest first: copies them to `to`, takes them from the queue, and writes how many to
// `stolen`. A whole block costs hardly more than one entry.
//
// OK: at least one, unless `count` is 0. Otherwise none, and `stolen` gets 0: EMPTY, BUSY or CLOSED, as for one.
thalweg_status thalweg_bwos_records_steal_many(thalweg_bwos_records_thief *thief,
                                               void *to,
                                               size_t count,
                                               size_t *stolen);

// How many bytes an entry has. 0 for NULL.
size_t thalweg_bwos_records_thief_entry_size(const thalweg_bwos_records_thief *thief);

// How many entries are granted, now or lately: what thieves could take. 0 for NULL.
size_t thalweg_bwos_records_thief_len(const thalweg_bwos_records_thief *thief);

// How many entries all blocks have. 0 for NULL.
size_t thalweg_bwos_records_thief_capacity(const thalweg_bwos_records_thief *thief);

// Whether the owner is gone. Then it stays so; entries may still be left. True for NULL.
bool thalweg_bwos_records_thief_is_closed(const thalweg_bwos_records_thief *thief);

// Frees a thief. With the last handle, what is in the queue is discarded. Nothing for NULL.
void thalweg_bwos_records_thief_free(thalweg_bwos_records_thief *thief);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* THALWEG_QUEUE_H */
