package family

import (
	"runtime"
	"sync"
)

// crew runs functions, each on a goroutine, and keeps a few of those for the
// next ones: a new goroutine's stack would grow anew each time, which costs more
// than most messages do. What is kept is bounded by the number of processors,
// not of actors, and ends with the last node.
type crew struct {
	mu     sync.Mutex
	idle   []chan func() // the last one in is the first one out: its stack is warm
	closed bool
}

// idlePerCPU is how many goroutines are kept a processor.
const idlePerCPU = 4

func (c *crew) run(f func()) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w <- f
		return
	}
	c.mu.Unlock()
	go c.work(f)
}

func (c *crew) work(f func()) {
	var next chan func()
	for {
		f()
		if next == nil {
			next = make(chan func(), 1)
		}
		if !c.wait(next) {
			return
		}
		var ok bool
		if f, ok = <-next; !ok {
			return
		}
	}
}

// wait offers a goroutine for later, unless there are enough.
func (c *crew) wait(w chan func()) bool {
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
