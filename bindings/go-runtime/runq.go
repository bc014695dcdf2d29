// The scheduler's local run queue as a block-based work-stealing queue (BWoS) in its FIFO form.
//
// The entries of pp.runq are blocks. The owner puts into the newest block of those in use and gets from the oldest, and holds both: it
// touches them without an atomic read-modify-write. What lies between is granted: thieves take all of a block at once.
//
//	grant   what thieves may take of a block: first<<32 | end. A thief advances first to end by a compare-and-swap and then reads the
//	        entries; the owner takes the block back by a swap.
//	read    how many entries thieves have taken and read, ever. The owner writes a block again when this equals what was taken.
//
// What is held is hidden from thieves. So the owner grants it too: after it has put a goroutine, if another P is idle or searches
// (runqshare), and before it runs one, also if thieves would find nothing else (runqoffer). So a P that becomes idle while a goroutine runs
// for long finds what is queued behind it, unless that is hidden behind granted blocks which thieves have taken since: then it waits for
// the owner's next turn, which sysmon forces within 10 ms.
//
// Invariants:
//
//	R1  Blocks runqfirst..runqlast, in the order of the ring, are in use. The owner alone changes these two and its fields of blocks.
//	R2  A block in use is either held, its items low..high, or granted. A block that is not in use has no grant.
//	R3  An entry is read by whoever advanced low or first past it, and by nobody else.
//	R4  An entry is written only when all that thieves took of its block is read.
//	R5  runqputs, runqgets and the blocks' read only grow. A goroutine is counted as put before anybody can take it, and as taken
//	    after that.
//
// Owner means the M that has the P, or whoever holds the P while it is idle or the world is stopped: P's are handed over with the
// synchronization that the ring's tail has relied on as well. Entries are guintptr: there are no write barriers, and the garbage collector
// finds the goroutines in allgs.

package runtime

import (
	"internal/cpu"
	"internal/runtime/atomic"
	"unsafe"
)

const (
	runqBlocks  = 8
	runqEntries = 32
)

// A runqBlock is what is known of a block. Its entries are in p.runq.
type runqBlock struct {
	grant atomic.Uint64
	read  atomic.Uint32

	_ [cpu.CacheLinePadSize - 12]byte

	// The owner's fields, which thieves that look around do not share.
	taken   uint32 // by thieves, ever, of grants that are over
	first   uint32 // of the last grant
	low     uint32 // the oldest item, while held
	high    uint32 // behind the newest item
	granted bool

	_ [cpu.CacheLinePadSize - 20]byte
}

// runqentry is an entry of a block; block is a position in the ring of blocks.
func (pp *p) runqentry(block, entry uint32) *guintptr {
	return &pp.runq[block%runqBlocks*runqEntries+entry]
}

// left is what a grant has left: its first entry and how many.
func runqleft(grant uint64) (first, n uint32) {
	first = uint32(grant >> 32)
	return first, uint32(grant) - first
}

// give grants what the owner holds of the block, which is something.
func (b *runqBlock) give() {
	b.first = b.low
	b.granted = true
	b.grant.Store(uint64(b.low)<<32 | uint64(b.high)) // releases the entries to thieves
}

// takeBack makes what thieves have left of a granted block the owner's again.
func (b *runqBlock) takeBack() {
	first, _ := runqleft(b.grant.Load())
	if first != b.high {
		first, _ = runqleft(b.grant.Swap(0))
	} else {
		// Thieves only advance first, and there is nothing left to take.
		b.grant.Store(0)
	}
	b.taken += first - b.first
	b.low = first
	b.granted = false
}

// exhausted reports whether the block has no items. Executed only by the owner P.
func (b *runqBlock) exhausted() bool {
	if !b.granted {
		return b.low == b.high
	}
	_, n := runqleft(b.grant.Load())
	return n == 0
}

// writable reports whether thieves have read all that they took of the block, which is not granted (R4).
func (b *runqBlock) writable() bool {
	return b.read.Load() == b.taken
}

// runqtrim leaves behind the oldest blocks that have no items. Executed only by the owner P.
func runqtrim(pp *p) {
	for pp.runqfirst != pp.runqlast {
		b := &pp.runqblocks[pp.runqfirst%runqBlocks]
		if !b.exhausted() {
			return
		}
		if b.granted {
			b.takeBack()
		}
		atomic.Store(&pp.runqfirst, pp.runqfirst+1)
	}
}

// runqroom makes room for an item in the newest block. Executed only by the owner P.
func runqroom(pp *p) bool {
	b := &pp.runqblocks[pp.runqlast%runqBlocks]
	if b.granted {
		b.takeBack()
	}
	if b.low == b.high && b.low != 0 && b.writable() {
		// A queue that is nearly empty stays in one block.
		b.low, b.high = 0, 0
	}
	if b.high < runqEntries {
		return true
	}
	if pp.runqlast-pp.runqfirst == runqBlocks-1 {
		runqtrim(pp)
		if pp.runqlast-pp.runqfirst == runqBlocks-1 {
			return false
		}
	}
	next := &pp.runqblocks[(pp.runqlast+1)%runqBlocks]
	if !next.writable() {
		return false
	}
	next.low, next.high = 0, 0
	if pp.runqlast != pp.runqfirst && b.low != b.high {
		b.give()
	}
	pp.runqlast++
	return true
}

// runqpush puts gp behind all others, if there is room. Executed only by the owner P.
func runqpush(pp *p, gp *g) bool {
	b := &pp.runqblocks[pp.runqlast%runqBlocks]
	if b.granted || b.high == runqEntries || b.low == b.high {
		if !runqroom(pp) {
			return false
		}
		b = &pp.runqblocks[pp.runqlast%runqBlocks]
	}
	pp.runqentry(pp.runqlast, b.high).set(gp)
	b.high++
	atomic.StoreRel(&pp.runqputs, pp.runqputs+1) // (R5) before the item is granted
	return true
}

// runqpop takes the oldest item that thieves have left. Executed only by the owner P.
func runqpop(pp *p) *g {
	for {
		b := &pp.runqblocks[pp.runqfirst%runqBlocks]
		if b.granted {
			b.takeBack()
		}
		if b.low != b.high {
			gp := pp.runqentry(pp.runqfirst, b.low).ptr()
			b.low++
			atomic.StoreRel(&pp.runqgets, pp.runqgets+1)
			return gp
		}
		if pp.runqfirst == pp.runqlast {
			return nil
		}
		atomic.Store(&pp.runqfirst, pp.runqfirst+1)
	}
}

// runqshare lets thieves take what the owner holds of the queue, and reports whether there was something.
// Executed only by the owner P.
func runqshare(pp *p) bool {
	shared := false
	for _, block := range [...]uint32{pp.runqfirst, pp.runqlast} {
		b := &pp.runqblocks[block%runqBlocks]
		if !b.granted && b.low != b.high {
			b.give()
			shared = true
		}
	}
	return shared
}

// runqoffer is for before a goroutine runs, which may take long: it lets thieves take all of the queue if they want something or would
// find nothing in it later. It reports whether a P is to be woken. Executed only by the owner P.
func runqoffer(pp *p) bool {
	if !runqwanted() && pp.runqlast-pp.runqfirst > 1 {
		if _, n := runqleft(pp.runqblocks[(pp.runqlast-1)%runqBlocks].grant.Load()); n != 0 {
			return false
		}
	}
	// Behind the grant, which is a full barrier: a P that has looked at the queue before it is counted as idle by now.
	return runqshare(pp) && runqwanted()
}

// runqwanted reports whether a P is idle or searches for work: then nothing should be hidden.
func runqwanted() bool {
	return sched.npidle.Load() != 0 || sched.nmspinning.Load() != 0
}

// runqdrained reports whether pp has no Gs on its local run queue, exactly. Executed only by the owner P.
func runqdrained(pp *p) bool {
	runqtrim(pp)
	return pp.runqblocks[pp.runqlast%runqBlocks].exhausted() && pp.runnext == 0
}

// runqstealable reports whether thieves can take something from pp.
func runqstealable(pp *p) bool {
	for i := range pp.runqblocks {
		if _, n := runqleft(pp.runqblocks[i].grant.Load()); n != 0 {
			return true
		}
	}
	return atomic.Loaduintptr((*uintptr)(unsafe.Pointer(&pp.runnext))) != 0
}

// runqtaken is how many Gs have been taken from the queue by anybody, ever.
func runqtaken(pp *p) uint32 {
	taken := atomic.LoadAcq(&pp.runqgets)
	for i := range pp.runqblocks {
		taken += pp.runqblocks[i].read.Load()
	}
	return taken
}

// runqsize is the number of Gs on the local run queue without runnext. For any P: G's that a thief just takes may still be counted.
func runqsize(pp *p) uint32 {
	for {
		puts := atomic.LoadAcq(&pp.runqputs)
		size := puts - runqtaken(pp)
		if puts == atomic.LoadAcq(&pp.runqputs) {
			return size
		}
	}
}

// runqempty reports whether pp has no Gs on its local run queue.
// It never returns true spuriously. It may return false for the moment in which a thief takes the last Gs.
func runqempty(pp *p) bool {
	// The queue is empty if as many Gs were taken as were put. runnext may be kicked to the queue meanwhile: that is seen as a put.
	for {
		puts := atomic.LoadAcq(&pp.runqputs)
		taken := runqtaken(pp)
		runnext := atomic.Loaduintptr((*uintptr)(unsafe.Pointer(&pp.runnext)))
		if puts == atomic.LoadAcq(&pp.runqputs) {
			return puts == taken && runnext == 0
		}
	}
}

// runqput tries to put g on the local runnable queue.
// If next is false, runqput adds g to the tail of the runnable queue.
// If next is true, runqput puts g in the pp.runnext slot.
// If the run queue is full, runqput puts g on the global queue.
// Executed only by the owner P.
func runqput(pp *p, gp *g, next bool) {
	if !haveSysmon {
		// Without sysmon a pair of goroutines that wake each other in runnext would starve all others.
		next = false
	}
	if randomizeScheduler && next && randn(2) == 0 {
		next = false
	}
	if next {
		oldnext := pp.runnext
		for !pp.runnext.cas(oldnext, guintptr(unsafe.Pointer(gp))) {
			oldnext = pp.runnext
		}
		if oldnext == 0 {
			return
		}
		// Kick the old runnext out to the regular run queue.
		gp = oldnext.ptr()
	}
	if !runqpush(pp, gp) {
		runqputslow(pp, gp)
		return
	}
	if runqwanted() {
		runqshare(pp)
	}
}

// runqputslow puts g and half of the local runnable queue on the global queue.
// Executed only by the owner P.
func runqputslow(pp *p, gp *g) {
	var q gQueue
	for q.size < int32(len(pp.runq)/2) {
		next := runqpop(pp)
		if next == nil {
			break
		}
		q.pushBack(next)
	}
	q.pushBack(gp)
	if randomizeScheduler {
		runqshuffle(&q)
	}
	lock(&sched.lock)
	globrunqputbatch(&q)
	unlock(&sched.lock)
}

// runqshuffle puts up to len(p.runq)/2+1 Gs in an order of chance.
func runqshuffle(q *gQueue) {
	var batch [runqBlocks*runqEntries/2 + 1]guintptr
	n := uint32(0)
	for n < uint32(len(batch)) && !q.empty() {
		batch[n].set(q.pop())
		n++
	}
	for i := uint32(1); i < n; i++ {
		j := cheaprandn(i + 1)
		batch[i], batch[j] = batch[j], batch[i]
	}
	for i := uint32(0); i < n; i++ {
		q.pushBack(batch[i].ptr())
	}
}

// runqputbatch puts all the Gs on q on the local runnable queue. Those for which it has no room go to the global queue: an empty
// queue may lack room while thieves still read what they took of its blocks.
// Executed only by the owner P, without sched.lock.
func runqputbatch(pp *p, q *gQueue) {
	if randomizeScheduler {
		runqshuffle(q)
	}
	for !q.empty() {
		gp := q.pop()
		if !runqpush(pp, gp) {
			q.push(gp)
			lock(&sched.lock)
			globrunqputbatch(q)
			unlock(&sched.lock)
		}
	}
	if runqwanted() {
		runqshare(pp)
	}
}

// Get g from local runnable queue.
// If inheritTime is true, gp should inherit the remaining time in the
// current time slice. Otherwise, it should start a new time slice.
// Executed only by the owner P.
func runqget(pp *p) (gp *g, inheritTime bool) {
	// If there's a runnext, it's the next G to run.
	next := pp.runnext
	// Other Ps can only set runnext to 0, so there is no need to retry.
	if next != 0 && pp.runnext.cas(next, 0) {
		return next.ptr(), true
	}
	return runqpop(pp), false
}

// runqdrain drains the local runnable queue of pp and returns all goroutines in it.
// Executed only by the owner P.
func runqdrain(pp *p) (drainQ gQueue) {
	oldNext := pp.runnext
	if oldNext != 0 && pp.runnext.cas(oldNext, 0) {
		drainQ.pushBack(oldNext.ptr())
	}
	for {
		gp := runqpop(pp)
		if gp == nil {
			return
		}
		drainQ.pushBack(gp)
	}
}

// runqgrab takes all that is left of one of pp's granted blocks, or runnext, into batch.
// Returns number of grabbed goroutines.
// Can be executed by any P.
func runqgrab(pp *p, batch *[runqEntries]guintptr, stealRunNextG bool) uint32 {
	for {
		// The oldest first.
		lost := false
		oldest := atomic.Load(&pp.runqfirst)
		for block := oldest; block != oldest+runqBlocks; block++ {
			b := &pp.runqblocks[block%runqBlocks]
			grant := b.grant.Load()
			first, n := runqleft(grant)
			if n == 0 {
				continue
			}
			if !b.grant.CompareAndSwap(grant, grant+uint64(n)<<32) {
				lost = true
				continue
			}
			for i := uint32(0); i < n; i++ {
				batch[i] = *pp.runqentry(block, first+i)
			}
			b.read.Add(int32(n)) // the entries are read (R4)
			return n
		}
		if lost {
			continue
		}
		if !stealRunNextG {
			return 0
		}
		next := pp.runnext
		if next == 0 {
			return 0
		}
		if pp.status == _Prunning {
			if mp := pp.m.ptr(); mp != nil {
				if gp := mp.curg; gp == nil || readgstatus(gp)&^_Gscan != _Gsyscall {
					// pp is likely to run next within microseconds: give it the chance, rather than move the
					// goroutine to another P and back.
					if !osHasLowResTimer {
						usleep(3)
					} else {
						osyield()
					}
				}
			}
		}
		if pp.runnext.cas(next, 0) {
			batch[0] = next
			return 1
		}
	}
}

// runqsteal takes a block of the local runnable queue of p2 and puts it onto the local runnable queue of pp.
// Returns one of the stolen elements (or nil if failed).
func runqsteal(pp, p2 *p, stealRunNextG bool) *g {
	var batch [runqEntries]guintptr
	n := runqgrab(p2, &batch, stealRunNextG)
	if n == 0 {
		return nil
	}
	var q gQueue
	for i := uint32(1); i < n; i++ {
		q.pushBack(batch[i].ptr())
	}
	if !q.empty() {
		runqputbatch(pp, &q)
	}
	return batch[0].ptr()
}
