/*
 * What DPDK's tests include as <rte_ring.h>: thalweg_rte_ring.h, and what those tests want besides. The queue under test moves pointers; elements of other
 * sizes travel in boxes of malloc, zero copy goes through a buffer (tests with it have one thread), and names are kept in a list.
 */

#ifndef THALWEG_DPDK_TESTS_RTE_RING_H
#define THALWEG_DPDK_TESTS_RTE_RING_H

#include "thalweg_rte_ring.h"

#include <rte_common.h>
#include <rte_errno.h>
#include <rte_memory.h>
#include <stdio.h>

/* The modes have no counterpart: these rings are for many. */
#define RING_F_MP_RTS_ENQ 0x0008
#define RING_F_MC_RTS_DEQ 0x0010
#define RING_F_MP_HTS_ENQ 0x0020
#define RING_F_MC_HTS_DEQ 0x0040

/* In memory of the caller's, who frees it alone: the queue in it is never freed. Such rings have no entry in the list of names. */

static inline ssize_t rte_ring_get_memsize(unsigned int count)
{
    (void)count;
    return sizeof(struct rte_ring);
}

static inline int rte_ring_init(struct rte_ring *r, const char *name, unsigned int count, unsigned int flags)
{
    struct rte_ring *made = rte_ring_create(name, count, SOCKET_ID_ANY, flags);

    if (made == NULL)
        return -errno;
    *r = *made;
    free(made);
    return 0;
}

/* Names: the header's rings may share one, DPDK's may not. */

#define TESTED_RINGS 64
static struct rte_ring *tested_rings[TESTED_RINGS];

static inline struct rte_ring *rte_ring_lookup(const char *name)
{
    int i;

    for (i = 0; i < TESTED_RINGS; i++)
        if (tested_rings[i] != NULL && strcmp(tested_rings[i]->name, name) == 0)
            return tested_rings[i];
    rte_errno = ENOENT;
    return NULL;
}

static inline struct rte_ring *tested_create(const char *name, unsigned int count, int socket, unsigned int flags)
{
    struct rte_ring *r;
    int i = 0;

    if (rte_ring_lookup(name) != NULL) {
        rte_errno = EEXIST;
        return NULL;
    }
    r = rte_ring_create(name, count, socket, flags);
    if (r == NULL) {
        rte_errno = errno;
        return NULL;
    }
    while (tested_rings[i] != NULL)
        i++;
    tested_rings[i] = r;
    return r;
}

static inline void tested_free(struct rte_ring *r)
{
    int i;

    for (i = 0; i < TESTED_RINGS; i++)
        if (r != NULL && tested_rings[i] == r)
            tested_rings[i] = NULL;
    rte_ring_free(r);
}

#define rte_ring_create tested_create
#define rte_ring_free tested_free

static inline void rte_ring_dump(FILE *f, const struct rte_ring *r)
{
    fprintf(f, "ring <%s>: capacity %u, count %u, free %u\n", r->name, r->capacity, rte_ring_count(r), rte_ring_free_count(r));
}

static inline void rte_ring_list_dump(FILE *f)
{
    int i;

    for (i = 0; i < TESTED_RINGS; i++)
        if (tested_rings[i] != NULL)
            rte_ring_dump(f, tested_rings[i]);
}

/* Elements of other sizes: `esize` -1 stands for pointers. */

static inline struct rte_ring *rte_ring_create_elem(const char *name, unsigned int esize, unsigned int count, int socket, unsigned int flags)
{
    if (esize % 4 != 0) {
        rte_errno = EINVAL;
        return NULL;
    }
    return rte_ring_create(name, count, socket, flags);
}

static inline unsigned int boxed_enqueue(struct rte_ring *r, const void *objects, unsigned int esize, unsigned int least, unsigned int n, unsigned int *left)
{
    unsigned int i, pushed;
    void **boxes = (void **)malloc(n * sizeof(*boxes));

    for (i = 0; i < n; i++) {
        boxes[i] = malloc(esize);
        memcpy(boxes[i], (const char *)objects + (size_t)i * esize, esize);
    }
    pushed = least == n ? rte_ring_enqueue_bulk(r, boxes, n, left) : rte_ring_enqueue_burst(r, boxes, n, left);
    for (i = pushed; i < n; i++)
        free(boxes[i]);
    free(boxes);
    return pushed;
}

static inline unsigned int boxed_dequeue(struct rte_ring *r, void *objects, unsigned int esize, unsigned int least, unsigned int n, unsigned int *left)
{
    unsigned int i, popped;
    void **boxes = (void **)malloc(n * sizeof(*boxes));

    popped = least == n ? rte_ring_dequeue_bulk(r, boxes, n, left) : rte_ring_dequeue_burst(r, boxes, n, left);
    for (i = 0; i < popped; i++) {
        memcpy((char *)objects + (size_t)i * esize, boxes[i], esize);
        free(boxes[i]);
    }
    free(boxes);
    return popped;
}

#define TESTED_ELEM(sp, sc)                                                                                                                         \
    static inline unsigned int rte_ring_##sp##enqueue_bulk_elem(struct rte_ring *r, const void *o, unsigned int esize, unsigned int n, unsigned int *f)  \
    {                                                                                                                                               \
        return boxed_enqueue(r, o, esize, n, n, f);                                                                                                 \
    }                                                                                                                                               \
    static inline unsigned int rte_ring_##sp##enqueue_burst_elem(struct rte_ring *r, const void *o, unsigned int esize, unsigned int n, unsigned int *f) \
    {                                                                                                                                               \
        return boxed_enqueue(r, o, esize, 0, n, f);                                                                                                 \
    }                                                                                                                                               \
    static inline int rte_ring_##sp##enqueue_elem(struct rte_ring *r, const void *o, unsigned int esize)                                            \
    {                                                                                                                                               \
        return boxed_enqueue(r, o, esize, 1, 1, NULL) ? 0 : -ENOBUFS;                                                                               \
    }                                                                                                                                               \
    static inline unsigned int rte_ring_##sc##dequeue_bulk_elem(struct rte_ring *r, void *o, unsigned int esize, unsigned int n, unsigned int *a)   \
    {                                                                                                                                               \
        return boxed_dequeue(r, o, esize, n, n, a);                                                                                                 \
    }                                                                                                                                               \
    static inline unsigned int rte_ring_##sc##dequeue_burst_elem(struct rte_ring *r, void *o, unsigned int esize, unsigned int n, unsigned int *a)  \
    {                                                                                                                                               \
        return boxed_dequeue(r, o, esize, 0, n, a);                                                                                                 \
    }                                                                                                                                               \
    static inline int rte_ring_##sc##dequeue_elem(struct rte_ring *r, void *o, unsigned int esize)                                                  \
    {                                                                                                                                               \
        return boxed_dequeue(r, o, esize, 1, 1, NULL) ? 0 : -ENOENT;                                                                                \
    }

TESTED_ELEM(, )
TESTED_ELEM(sp_, sc_)
TESTED_ELEM(mp_, mc_)

/* Zero copy: what is written is pushed at the end, in two parts, as around the end of a ring. */

struct rte_ring_zc_data {
    void *ptr1;
    void *ptr2;
    unsigned int n1;
};

static struct {
    char *bytes;
    unsigned int esize;
    int pointers;
} tested_zc;

static inline void tested_zc_start(struct rte_ring_zc_data *zcd, unsigned int esize, int pointers, unsigned int n)
{
    tested_zc.bytes = (char *)malloc((size_t)n * esize + 1);
    tested_zc.esize = esize;
    tested_zc.pointers = pointers;
    zcd->n1 = (n + 1) / 2;
    zcd->ptr1 = tested_zc.bytes;
    zcd->ptr2 = tested_zc.bytes + (size_t)zcd->n1 * esize;
}

static inline unsigned int tested_zc_enqueue(struct rte_ring *r, unsigned int esize, int pointers, unsigned int least, unsigned int n, struct rte_ring_zc_data *zcd, unsigned int *left)
{
    unsigned int room = rte_ring_free_count(r);

    n = room < n ? room : n;
    if (n < least)
        n = 0;
    if (left != NULL)
        *left = room - n;
    if (n > 0)
        tested_zc_start(zcd, esize, pointers, n);
    return n;
}

static inline void rte_ring_enqueue_zc_finish(struct rte_ring *r, unsigned int n)
{
    if (n > 0 && tested_zc.pointers)
        rte_ring_enqueue_bulk(r, (void *const *)tested_zc.bytes, n, NULL);
    else if (n > 0)
        boxed_enqueue(r, tested_zc.bytes, tested_zc.esize, n, n, NULL);
    free(tested_zc.bytes);
}

static inline unsigned int tested_zc_dequeue(struct rte_ring *r, unsigned int esize, int pointers, unsigned int least, unsigned int n, struct rte_ring_zc_data *zcd, unsigned int *left)
{
    unsigned int items = rte_ring_count(r);

    n = items < n ? items : n;
    if (n < least)
        n = 0;
    if (left != NULL)
        *left = items - n;
    if (n == 0)
        return 0;
    tested_zc_start(zcd, esize, pointers, n);
    if (pointers)
        return rte_ring_dequeue_bulk(r, (void **)tested_zc.bytes, n, NULL);
    return boxed_dequeue(r, tested_zc.bytes, esize, n, n, NULL);
}

static inline void rte_ring_dequeue_zc_finish(struct rte_ring *r, unsigned int n)
{
    (void)r;
    (void)n;
    free(tested_zc.bytes);
}

#define rte_ring_enqueue_zc_bulk_start(r, n, z, f) tested_zc_enqueue(r, sizeof(void *), 1, n, n, z, f)
#define rte_ring_enqueue_zc_burst_start(r, n, z, f) tested_zc_enqueue(r, sizeof(void *), 1, 0, n, z, f)
#define rte_ring_enqueue_zc_bulk_elem_start(r, e, n, z, f) tested_zc_enqueue(r, e, 0, n, n, z, f)
#define rte_ring_enqueue_zc_burst_elem_start(r, e, n, z, f) tested_zc_enqueue(r, e, 0, 0, n, z, f)
#define rte_ring_dequeue_zc_bulk_start(r, n, z, a) tested_zc_dequeue(r, sizeof(void *), 1, n, n, z, a)
#define rte_ring_dequeue_zc_burst_start(r, n, z, a) tested_zc_dequeue(r, sizeof(void *), 1, 0, n, z, a)
#define rte_ring_dequeue_zc_bulk_elem_start(r, e, n, z, a) tested_zc_dequeue(r, e, 0, n, n, z, a)
#define rte_ring_dequeue_zc_burst_elem_start(r, e, n, z, a) tested_zc_dequeue(r, e, 0, 0, n, z, a)

#endif
