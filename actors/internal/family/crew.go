package family

import (
	"runtime"
	"sync"
	"time"
)

// crew runs jobs, each on a goroutine, and keeps a few of those for the next
// ones: a new goroutine's stack would grow anew each time, which costs more than
// most messages do. What is kept is bounded by the number of processors, not of
// actors, and ends with the last node.
//
// A job that comes while a mailbox is being worked at is not given a goroutine at
// once: whoever works takes it up next, as a request and its answer are mostly
// one thing after the other, and waking another processor for them costs more
// than they do. A few jobs a worker may wait like that; for more, another
// goroutine begins, up to the number of processors. So a worker that is going to
// block says so, see [crew.leave]; at an effect, which may, a goroutine is no
// worker, but for those that say when they take long, see [Node.Compute].
//
// A handler may be long all the same, at a long history, or block, as code from
// outside does that watches messages. While jobs wait, [crew.look] sees whether
// they are taken up. If none is, those who are at one count as workers no longer,
// and others begin.
type crew struct {
	mu     sync.Mutex
	idle   []chan job // the last one in is the first one out: its stack is warm
	ready  queue      // jobs that nobody has taken up
	active []job      // what the workers are at
	procs  int        // 0: not known yet
	closed bool
	late   []Waker // to be woken
	jobs   int     // since the last of them was

	taken   uint64 // jobs that had waited
	watch   *time.Timer
	looking bool   // watch is going to ring
	seen    uint64 // taken when it was set
}

// Waker is somebody outside who waits for what workers make.
type Waker interface{ Wake() }

// wakeAfter is how many jobs a waker waits at most while there is work.
const wakeAfter = 64

// patience is how long wakers wait at most, and jobs while none is taken up.
const patience = 10 * time.Millisecond

// wake has somebody outside woken when there is no more work, or not much later:
// waking another processor for each single thing costs more than making it.
func (c *crew) wake(w Waker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.late); n == 0 || c.late[n-1] != w {
		c.late = append(c.late, w)
	}
	c.expect()
}

// job is a mailbox with messages, or the work of an effect.
type job interface {
	// run returns what the goroutine goes on with: the mailbox that became ready by
	// it, or itself when there is more; nil for nothing.
	run() (next job)
	// works tells whether the goroutine that runs it is a worker.
	works() bool
}

// jobFunc is a function as a job.
type jobFunc func()

func (f jobFunc) works() bool { return false }

func (f jobFunc) run() job {
	f()
	return nil
}

// perWorker is how many jobs may wait for a worker before another one begins.
const perWorker = 4

// idlePerCPU is how many goroutines are kept a processor.
const idlePerCPU = 4

// post has a job done.
func (c *crew) post(j job) {
	c.mu.Lock()
	if n := len(c.active); n > 0 && (c.ready.len() < perWorker*n || n >= c.limit()) {
		c.ready.push(j)
		c.expect()
		c.mu.Unlock()
		return
	}
	c.start(j)
}

// expect has it looked after whoever waits now.
func (c *crew) expect() {
	if c.looking {
		return
	}
	c.looking, c.seen = true, c.taken
	if c.watch == nil {
		c.watch = time.AfterFunc(patience, c.look)
	} else {
		c.watch.Reset(patience)
	}
}

// look wakes those who wait to be woken, and sees to jobs that nobody takes up.
// The time is the machine's: a clock from outside may stand still.
func (c *crew) look() {
	c.mu.Lock()
	c.looking = false
	late := c.due()
	if c.ready.len() > 0 {
		if c.taken == c.seen {
			c.active = nil
		}
		c.expect()
	}
	c.goOn()
	for _, w := range late {
		w.Wake()
	}
}

func (c *crew) limit() int {
	if c.procs == 0 {
		c.procs = runtime.GOMAXPROCS(0)
	}
	return c.procs
}

// start gives a job to a goroutine, and unlocks.
func (c *crew) start(j job) {
	c.begin(j)
	n := len(c.idle)
	if n == 0 {
		c.mu.Unlock()
		go c.work(j)
		return
	}
	w := c.idle[n-1]
	c.idle = c.idle[:n-1]
	c.mu.Unlock()
	w <- j
}

func (c *crew) work(j job) {
	var wake chan job
	for {
		next, late := c.next(j, j.run())
		for _, w := range late {
			w.Wake()
		}
		if j = next; j != nil {
			continue
		}
		if wake == nil {
			wake = make(chan job, 1)
		}
		if !c.wait(wake) {
			return
		}
		if j = <-wake; j == nil {
			return // dismissed
		}
	}
}

// next is what a goroutine goes on with after a job: what the job said, or what
// has waited longest; nil for nothing. late are those to be woken now.
func (c *crew) next(done, next job) (_ job, late []Waker) {
	c.mu.Lock()
	c.end(done)
	if next == done && c.ready.len() > 0 {
		c.ready.push(next) // others come first
		next = c.pop()
	}
	if next == nil && len(c.active) < c.limit() {
		next = c.pop()
	}
	if next != nil {
		c.begin(next)
	}
	if c.jobs++; next == nil || !next.works() || c.jobs >= wakeAfter {
		late = c.due()
	}
	c.goOn()
	return next, late
}

// due is who is to be woken.
func (c *crew) due() (late []Waker) {
	late, c.late, c.jobs = c.late, nil, 0
	return late
}

// goOn has somebody take up what waits when no worker is left to do so, and
// unlocks.
func (c *crew) goOn() {
	for len(c.active) == 0 {
		j := c.pop()
		if j == nil {
			break
		}
		c.start(j)
		c.mu.Lock()
	}
	c.mu.Unlock()
}

func (c *crew) pop() job {
	if c.ready.len() == 0 {
		return nil
	}
	c.taken++
	return c.ready.pop().(job)
}

// leave is called before a worker blocks, and enter when it is one again: others
// must not wait for it.
func (c *crew) leave(j job) {
	c.mu.Lock()
	c.end(j)
	late := c.due()
	c.goOn()
	for _, w := range late {
		w.Wake()
	}
}

func (c *crew) enter(j job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin(j)
}

// begin counts a worker that is at a job.
func (c *crew) begin(j job) {
	if j.works() {
		c.active = append(c.active, j)
	}
}

// end takes back what begin counted, if it still counts.
func (c *crew) end(j job) {
	for i, a := range c.active {
		if a == j {
			last := len(c.active) - 1
			c.active[i] = c.active[last]
			c.active[last] = nil
			c.active = c.active[:last]
			return
		}
	}
}

// wait offers a goroutine for later, unless there are enough.
func (c *crew) wait(w chan job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= idlePerCPU*c.limit() {
		return false
	}
	c.idle = append(c.idle, w)
	return true
}

// dismiss lets the goroutines that wait end. What is still to be run gets a
// goroutine of its own.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, w := range c.idle {
		close(w)
	}
	c.idle = nil
}
