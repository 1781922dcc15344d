package actors

// PanicIn has the agent's actor panic, as a fault of ours would.
func PanicIn(a *Agent) {
	a.host.tools.Store(&Toolset{order: []*entry{nil}})
	_ = a.AddTool(Tool{Name: "x"})
}
