package family

import (
	"runtime"
	"sync"
)

// crew runs jobs, each on a goroutine, and keeps a few of those for the next
// ones: a new goroutine's stack would grow anew each time, which costs more than
// most messages do. What is kept is bounded by the number of processors, not of
// actors, and ends with the last node.
//
// A job that comes while a mailbox is being worked at is not given a goroutine at
// once: whoever works takes it up next, as a request and its answer are mostly
// one thing after the other, and waking another processor for them costs more
// than they do. One job a worker may wait like that; for more, another goroutine
// begins, up to the number of processors. So nobody may block while at a mailbox,
// see [crew.leave]; effects may, and while at one, a goroutine is no worker.
type crew struct {
	mu     sync.Mutex
	idle   []chan job // the last one in is the first one out: its stack is warm
	ready  queue      // jobs that nobody has taken up
	active int        // goroutines that are at a mailbox: workers
	procs  int        // 0: not known yet
	closed bool
}

// job is a mailbox with messages, or the work of an effect. run returns the
// mailbox that became ready by it, if any: the goroutine goes on with that.
type job interface{ run() (next job) }

// jobFunc is a function as a job.
type jobFunc func()

func (f jobFunc) run() job {
	f()
	return nil
}

// idlePerCPU is how many goroutines are kept a processor.
const idlePerCPU = 4

// post has a job done.
func (c *crew) post(j job) {
	c.mu.Lock()
	if c.active > 0 && (c.ready.len() < c.active || c.active >= c.limit()) {
		c.ready.push(j)
		c.mu.Unlock()
		return
	}
	c.start(j)
}

func (c *crew) limit() int {
	if c.procs == 0 {
		c.procs = runtime.GOMAXPROCS(0)
	}
	return c.procs
}

// start gives a job to a goroutine, and unlocks.
func (c *crew) start(j job) {
	if isMailbox(j) {
		c.active++
	}
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

func isMailbox(j job) bool {
	_, ok := j.(*mailbox)
	return ok
}

func (c *crew) work(j job) {
	var wake chan job
	for {
		next := c.next(j, j.run())
		if next == nil {
			if wake == nil {
				wake = make(chan job, 1)
			}
			if !c.wait(wake) {
				return
			}
			next = <-wake
			if next == nil {
				return // dismissed
			}
		}
		j = next
	}
}

// next is what a goroutine goes on with after a job: the mailbox that became
// ready by it, or what has waited longest; nil for nothing.
func (c *crew) next(done, next job) job {
	c.mu.Lock()
	if isMailbox(done) {
		c.active--
	}
	if next == nil && c.active < c.limit() {
		next = c.pop()
	}
	if next != nil && isMailbox(next) {
		c.active++
	}
	c.goOn()
	return next
}

// goOn has somebody take up what waits when no worker is left to do so, and
// unlocks.
func (c *crew) goOn() {
	for c.active == 0 {
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
	return c.ready.pop().(job)
}

// leave is called before a mailbox's goroutine blocks, and enter after it:
// others must not wait for it.
func (c *crew) leave() {
	c.mu.Lock()
	c.active--
	c.goOn()
}

func (c *crew) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active++
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
