package family

import (
	"runtime"
	"sync"
)

// crew runs jobs, each on a goroutine, and keeps a few of those for the
// next ones: a new goroutine's stack would grow anew each time, which costs more
// than most messages do. What is kept is bounded by the number of processors,
// not of actors, and ends with the last node.
type crew struct {
	mu     sync.Mutex
	idle   []chan job // the last one in is the first one out: its stack is warm
	closed bool
}

// job is a mailbox with messages, or the work of an effect.
type job interface{ run() }

// jobFunc is a function as a job.
type jobFunc func()

func (f jobFunc) run() { f() }

// idlePerCPU is how many goroutines are kept a processor.
const idlePerCPU = 4

func (c *crew) run(j job) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w <- j
		return
	}
	c.mu.Unlock()
	go c.work(j)
}

func (c *crew) work(j job) {
	var next chan job
	for {
		j.run()
		if next == nil {
			next = make(chan job, 1)
		}
		if !c.wait(next) {
			return
		}
		var ok bool
		if j, ok = <-next; !ok {
			return
		}
	}
}

// wait offers a goroutine for later, unless there are enough.
func (c *crew) wait(w chan job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= idlePerCPU*runtime.GOMAXPROCS(0) {
		return false
	}
	c.idle = append(c.idle, w)
	return true
}

// dismiss ends the goroutines that wait. What runs ends by itself.
func (c *crew) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, w := range c.idle {
		close(w)
	}
	c.idle = nil
}
