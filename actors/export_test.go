package actors

// PanicIn has the agent's actor panic, as a fault of ours would.
func PanicIn(a *Agent) {
	a.host.tools.Store(&Toolset{order: []*entry{nil}})
	_ = a.AddTool(Tool{Name: "x"})
}

// SetHeap has an engine believe that objects, and live ones, take so many bytes.
func SetHeap(e *Engine, objects, live func() int64) {
	e.turns.mu.Lock()
	defer e.turns.mu.Unlock()
	e.turns.read = func(metric string) int64 {
		if metric == "/gc/heap/live:bytes" {
			return live()
		}
		return objects()
	}
}
