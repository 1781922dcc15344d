package main

import (
	"context"
	"strings"
	"testing"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// sandboxProbe lists what a plugin has: its globals' fields, and the methods
// of ctx and of a task.
const sandboxProbe = `
local found = {}
for _, lib in ipairs({ "clm", "http", "json" }) do
  for k in pairs(_G[lib]) do found[#found + 1] = lib .. "." .. k end
end
clm.tool_register("probe", { no_prompt = true, invoke = function(_, ctx)
  local t = clm.spawn(function() end)
  for _, name in ipairs({ "complete", "fail", "args_raw", "log", "spawn", "sleep", "wait", "result", "cancel", "read", "value" }) do
    if pcall(function() assert(ctx[name]) end) then found[#found + 1] = "ctx:" .. name end
    if pcall(function() assert(t[name]) end) then found[#found + 1] = "task:" .. name end
  end
  if print then found[#found + 1] = "print" end
  t:wait()
  t:result()
  ctx:complete(table.concat(found, " "))
end })`

// sandboxNames runs the probe through the bench.
func sandboxNames(t *testing.T) []string {
	t.Helper()
	plugins, bad := actors.LoadPlugins(t.Context(), actors.PluginOptions{Files: []actors.PluginFile{{Name: "probe", Source: sandboxProbe}}})
	for _, err := range bad {
		t.Fatal(err)
	}
	tools, err := actors.NewToolset(plugins)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(runDemoTool(t, tools, "probe"))
	if len(names) < 15 {
		t.Fatalf("the probe found only %v", names)
	}
	return names
}

// runDemoTool has the demo model call a tool, and gives its result.
func runDemoTool(t *testing.T, tools *actors.Toolset, prompt string) string {
	t.Helper()
	e, err := actors.Start(t.Context(), actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	a, err := e.Spawn(t.Context(), actors.AgentOptions{Tools: tools, Model: actors.Model{Connection: llm.Connection{Kind: llm.KindDemo}, ID: "demo"}})
	if err != nil {
		t.Fatal(err)
	}
	events, err := a.Listen()
	if err != nil {
		t.Fatal(err)
	}
	n, err := a.Submit(prompt)
	if err != nil {
		t.Fatal(err)
	}
	result := ""
	_, err = events.Turn(t.Context(), n, func(ev actors.Event) {
		if d, ok := ev.Data.(msg.ToolResult); ok {
			result = d.Text
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
