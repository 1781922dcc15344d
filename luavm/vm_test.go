package luavm_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"go.uber.org/goleak"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// step steps a task and fails the test if it ends.
func step(t *testing.T, task *luavm.Task) luavm.Yield {
	t.Helper()
	y := task.Step(bg, luavm.Answer{})
	if y.Done {
		t.Fatalf("task %d ended: %+v", task.ID(), y.Result)
	}
	return y
}

func TestInterleavedCalls(t *testing.T) {
	v := load(t, luavm.Options{}, `local busy = 0 `, register("t", `
		busy = busy + 1
		local r = http.get("http://x/" .. args.n)
		busy = busy - 1
		ctx:complete(args.n .. "/" .. busy .. "/" .. r.body)`))
	var calls []*luavm.Call
	for i := range 5 {
		c := v.Call("t", fmt.Sprintf(`{"n":%d}`, i))
		want := step(t, c.Main()).Want.(luavm.HTTP)
		if want.URL != fmt.Sprintf("http://x/%d", i) || want.Tool != "t" {
			t.Errorf("call %d wants %+v", i, want)
		}
		calls = append(calls, c)
	}
	for i, c := range slices.Backward(calls) {
		y := c.Main().Step(bg, luavm.Answer{Status: 200, Body: "b"})
		if want := fmt.Sprintf("%d/%d/b", i, i); !y.Done || y.Result.Text != want {
			t.Errorf("call %d gave %+v, want %s", i, y.Result, want)
		}
	}
}

func TestCancelRunning(t *testing.T) {
	v := load(t, luavm.Options{}, register("spin", `while true do pcall(function() while true do end end) end`), helloPlugin)
	for _, how := range []string{"context", "kill", "cause"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(bg)
			c := v.Call("spin", "")
			done := make(chan luavm.Yield)
			go func() { done <- c.Main().Step(ctx, luavm.Answer{}) }()
			time.Sleep(20 * time.Millisecond)
			start, cpu := time.Now(), cpuTime()
			want := "cancelled"
			switch how {
			case "context":
				cancel(nil)
			case "cause":
				cancel(errors.New("turn ended"))
				want = "turn ended"
			case "kill":
				c.Main().Kill("killed")
				want = "killed"
			}
			y := <-done
			if took := min(time.Since(start), cpuTime()-cpu); took > 50*time.Millisecond*slowdown {
				t.Errorf("took %v", took)
			}
			if !y.Done || y.Result == nil || !y.Result.Aborted || y.Result.Text != want {
				t.Errorf("got %+v %+v, want %q", y, y.Result, want)
			}
			cancel(nil)
			greet(t, v)
		})
	}
}

func TestContextEndedBeforeStep(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `ran = true clm.sleep(1) ctx:complete("")`), register("ran", `ctx:complete(tostring(ran))`))
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if y := v.Call("t", "").Main().Step(ctx, luavm.Answer{}); !y.Done || !y.Result.Aborted {
		t.Errorf("got %+v", y)
	}
	if got := call(t, v, "ran", ""); got != "nil" {
		t.Errorf("the code ran: %s", got)
	}
}

// parked are ways to wait; each must unwind when killed.
var parked = []string{
	`clm.sleep(1)`,
	`while true do pcall(clm.sleep, 1) end`,
	`while true do pcall(pcall, function() pcall(clm.sleep, 1) end) end`,
	`while true do xpcall(clm.sleep, function() clm.sleep(1) end, 1) end`,
	`("x"):gsub("x", function() pcall(function() local t = setmetatable({}, {__index = function() clm.sleep(1) end}) return t.x end) end)`,
	`table.sort({3, 2, 1}, function() pcall(clm.sleep, 1) return true end)`,
	`local function f(n) if n == 0 then clm.sleep(1) end while true do pcall(f, n - 1) end end f(100)`,
	`for x in function() pcall(clm.sleep, 1) return 1 end do end`,
	`local x <close> = setmetatable({}, {__close = function() while true do end end}) clm.sleep(1)`,
	`return clm.sleep(1)`,
}

func TestKillParked(t *testing.T) {
	for i, body := range parked {
		v := load(t, luavm.Options{}, register("t", body), helloPlugin)
		before := runtime.NumGoroutine()
		c := v.Call("t", "")
		step(t, c.Main())
		c.Main().Kill("enough")
		c.Main().Kill("again")
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d: %d goroutines, %d before", i, after, before)
		}
		y := c.Main().Step(bg, luavm.Answer{})
		if !y.Done || y.Result == nil || y.Result.Text != "enough" || !y.Result.Aborted {
			t.Errorf("%d: %+v %+v", i, y, y.Result)
		}
		greet(t, v)
	}
}

// A kill is served while a neighbour of the same VM computes.
func TestKillWhileNeighbourRuns(t *testing.T) {
	v := load(t, luavm.Options{}, register("spin", `while true do end`), register("t", `pcall(clm.sleep, 1)`), helloPlugin)
	var waiting []*luavm.Call
	for range 50 {
		c := v.Call("t", "")
		step(t, c.Main())
		waiting = append(waiting, c)
	}
	ctx, cancel := context.WithCancel(bg)
	spin := make(chan luavm.Yield)
	go func() { spin <- v.Call("spin", "").Main().Step(ctx, luavm.Answer{}) }()
	time.Sleep(10 * time.Millisecond)
	start, cpu := time.Now(), cpuTime()
	var wg sync.WaitGroup
	for _, c := range waiting {
		wg.Go(func() { c.Main().Kill("enough") })
	}
	wg.Wait()
	if took := min(time.Since(start), cpuTime()-cpu); took > 50*time.Millisecond*slowdown {
		t.Errorf("50 kills took %v", took)
	}
	cancel()
	<-spin
	greet(t, v)
}

func TestKillNeverRan(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `local a = clm.spawn(function() ran = true end) clm.sleep(1)
		ctx:complete(tostring(a:result().cancelled) .. a:result().error .. tostring(ran))`))
	c := v.Call("t", "")
	y := step(t, c.Main())
	y.Spawned[0].Kill("not needed")
	if y := y.Spawned[0].Step(bg, luavm.Answer{}); !y.Done || y.Failed || y.Result != nil {
		t.Errorf("got %+v", y)
	}
	if y := c.Main().Step(bg, luavm.Answer{}); !y.Done || y.Result.Text != "truenot needednil" {
		t.Errorf("got %+v", y.Result)
	}
}

// The CPU limit is of the whole call: a child that passes it ends the call.
func TestChildPastLimit(t *testing.T) {
	for name, body := range map[string]string{
		"timed out after 50 ms":                          `while true do end`,
		"not enough memory: the plugin's limit is 8 MiB": `local t = {} for i = 1, 1e9 do t[i] = {} end`,
	} {
		limit := "50"
		if strings.HasPrefix(name, "not") {
			limit = "10000"
		}
		v := load(t, luavm.Options{}, `clm.tool_register("t", { timeout_ms = `+limit+`, invoke = function(args, ctx)
			local a = clm.spawn(function() `+body+` end) clm.sleep(1e6) ctx:complete("survived") end })`, helloPlugin)
		c := v.Call("t", "")
		child := step(t, c.Main()).Spawned[0]
		y := child.Step(bg, luavm.Answer{})
		if !y.Done || y.Result == nil || y.Result.Text != name || !y.Result.Aborted {
			t.Errorf("child gave %+v %+v", y, y.Result)
		}
		if y = c.Main().Step(bg, luavm.Answer{}); !y.Done || y.Result == nil || y.Result.Text != name {
			t.Errorf("main gave %+v %+v", y, y.Result)
		}
		greet(t, v)
	}
}

// Time is summed over the slices of a call and of its tasks; waiting does not count.
func TestCPUSum(t *testing.T) {
	v := load(t, luavm.Options{}, `clm.tool_register("t", { timeout_ms = 80, invoke = function(args, ctx)
		while true do for j = 1, 20000 do end clm.sleep(1) end end })`)
	c := v.Call("t", "")
	for i := 0; ; i++ {
		before := c.CPU()
		y := c.Main().Step(bg, luavm.Answer{})
		if c.CPU() <= before {
			t.Fatalf("CPU stays at %v", before)
		}
		if y.Done {
			if y.Result.Text != "timed out after 80 ms" || i < 2 {
				t.Errorf("after %d slices: %+v", i, y.Result)
			}
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestSecondLoad(t *testing.T) {
	p, err := luavm.Compile("p", `
		loads = (clm.read_file("count") or "")
		clm.tool_register("a", { invoke = function(_, ctx) ctx:complete("a") end })
		if loads ~= "" then clm.tool_register(loads, { invoke = function() end }) end
		if loads ~= "drop" then clm.tool_register("b", { invoke = function() end }) end`)
	if err != nil {
		t.Fatal(err)
	}
	again := func(first []luavm.Tool, count string) (luavm.Result, *luavm.VM) {
		v := luavm.New(p, luavm.Options{Tools: first})
		s := &luavmtest.Simulation{Answer: func(*luavm.Task, luavm.Want) (luavm.Answer, time.Duration) {
			return luavm.Answer{Text: count}, 0
		}}
		return s.Run(bg, v.Load()), v
	}
	r, v := again(nil, "")
	if r.Failed || len(v.Tools()) != 2 {
		t.Fatalf("learning: %+v, tools %v", r, v.Tools())
	}
	known := v.Tools()
	if r, v := again(known, ""); r.Failed || !v.Loaded() {
		t.Errorf("same tools: %+v", r)
	}
	if r, _ := again(known, "c"); !r.Failed || !strings.Contains(r.Text, "tool c was not registered when the plugin was first loaded") {
		t.Errorf("more tools: %+v", r)
	}
	r, v = again([]luavm.Tool{{Name: "a"}, {Name: "b"}, {Name: "drop"}}, "drop")
	if !r.Failed || !strings.Contains(r.Text, "did not register b again") || v.Loaded() || v.Tools() != nil {
		t.Errorf("fewer tools: %+v", r)
	}
	if r := new(luavmtest.Simulation).Run(bg, v.Load()); !r.Failed {
		t.Error("a second Load of a VM works")
	}
}

func TestReserved(t *testing.T) {
	p, err := luavm.Compile("p", `
		local ok, err = pcall(clm.tool_register, "read_file", { invoke = print })
		clm.tool_register("t", { invoke = function(_, ctx) ctx:complete(err) end })`)
	if err != nil {
		t.Fatal(err)
	}
	v := luavm.New(p, luavm.Options{Reserved: func(name string) string {
		if name == "read_file" {
			return "it is built in"
		}
		return ""
	}})
	new(luavmtest.Simulation).Run(bg, v.Load())
	if got := call(t, v, "t", ""); got != "clm.tool_register: tool name read_file is taken: it is built in" {
		t.Errorf("got %q", got)
	}
}

// clm.config follows the tool whose call runs, when the file has none.
func TestToolConfig(t *testing.T) {
	v := load(t, luavm.Options{ToolConfig: map[string]map[string]any{"a": {"x": "A"}, "b": {"x": "B"}}},
		`local seen = type(clm.config) .. tostring(next(clm.config)) `,
		register("a", `clm.sleep(1) ctx:complete(seen .. tostring(clm.config.x))`), register("b", `clm.sleep(1) ctx:complete(seen .. tostring(clm.config.x))`),
		register("c", `clm.sleep(1) ctx:complete(seen .. tostring(clm.config.x))`))
	var calls []*luavm.Call
	for _, tool := range []string{"a", "b", "c", "a"} {
		c := v.Call(tool, "")
		step(t, c.Main())
		calls = append(calls, c)
	}
	for i, want := range []string{"A", "B", "nil", "A"} {
		if y := calls[i].Main().Step(bg, luavm.Answer{}); y.Result.Text != "tablenil"+want {
			t.Errorf("call %d: %q", i, y.Result.Text)
		}
	}
}

// A killed task's open upvalues keep their values when its thread serves another VM.
func TestUpvaluesOfTheDead(t *testing.T) {
	v := load(t, luavm.Options{}, `local get, set `, register("t", `local secret = "mine" get = function() return secret end
		set = function(x) secret = x end clm.sleep(1)`), register("get", `ctx:complete(get())`), register("set", `set("changed") ctx:complete(get())`))
	c := v.Call("t", "")
	step(t, c.Main())
	c.Main().Kill("x")
	other := load(t, luavm.Options{}, register("t", `local a, b, c = "other", "other", "other" clm.sleep(1) ctx:complete(a .. b .. c)`))
	oc := other.Call("t", "")
	step(t, oc.Main())
	if got := call(t, v, "get", ""); got != "mine" {
		t.Errorf("get gave %q", got)
	}
	if got := call(t, v, "set", ""); got != "changed" {
		t.Errorf("set gave %q", got)
	}
	if y := oc.Main().Step(bg, luavm.Answer{}); y.Result.Text != "otherotherother" {
		t.Errorf("the other VM gave %q", y.Result.Text)
	}
}

// A call that is ended while the plugin's variables fill the memory leaves nothing for the next one.
func TestFullWhenEnded(t *testing.T) {
	fill := `hoard = {} for i = 1, 82 do hoard[i] = ("x"):rep(100000) end `
	code := fill + register("wait", `clm.sleep(1000)`) + register("complete", `ctx:complete("done")`) +
		`clm.tool_register("loop", { timeout_ms = 20, invoke = function() while true do end end })`
	v := load(t, luavm.Options{}, code)
	if got := call(t, v, "complete", ""); got != "done" || v.Broken() != nil {
		t.Fatalf("a call that ends by itself gave %q, broken: %v", got, v.Broken())
	}
	if r := run(t, v, "loop", ""); !r.Aborted || v.Broken() == nil {
		t.Errorf("got %+v, broken: %v", r, v.Broken())
	}
	v = load(t, luavm.Options{}, code)
	c := v.Call("wait", "")
	step(t, c.Main())
	c.Main().Kill("x")
	if v.Broken() == nil {
		t.Error("not broken by a cancelled call")
	}
	v = load(t, luavm.Options{}, strings.Replace(code, "82", "70", 1))
	if r := run(t, v, "loop", ""); !r.Aborted || v.Broken() != nil {
		t.Errorf("with room left: got %+v, broken: %v", r, v.Broken())
	}
}

// What the host may hold for a plugin that waits for many answers at once grows with the logarithm of their number.
func TestAnswersShareTheMemory(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `for i = 1, 1000 do
			clm.spawn(function() if i % 100 == 0 then return http.get("http://x/") end return clm.read_file("big") end)
		end clm.sleep(1)`), register("one", `clm.read_file("big") ctx:complete("x")`))
	c := v.Call("t", "")
	var sum int64
	spawned := c.Main().Step(bg, luavm.Answer{}).Spawned
	for _, task := range spawned {
		switch w := task.Step(bg, luavm.Answer{}).Want.(type) {
		case luavm.ReadFile:
			sum += w.MaxBytes
		case luavm.HTTP:
			sum += w.MaxBody
		}
	}
	if len(spawned) != 1000 || sum > 8*luavm.DefaultMemory {
		t.Errorf("%d answers may have %d bytes together", len(spawned), sum)
	}
	c.Main().Kill("x")
	one := v.Call("one", "").Main()
	defer one.Kill("x")
	y := one.Step(bg, luavm.Answer{})
	if w, ok := y.Want.(luavm.ReadFile); !ok || w.MaxBytes < luavm.DefaultMemory*9/10 {
		t.Errorf("afterwards: %+v", y.Want)
	}
}

func TestBrokenByMemory(t *testing.T) {
	v := load(t, luavm.Options{}, register("keep", `hoard = {} for i = 1, 1e9 do hoard[i] = { i } end`),
		register("spend", `local hoard = {} for i = 1, 1e9 do hoard[i] = { i } end`), helloPlugin)
	for range 3 {
		if r := run(t, v, "spend", ""); !r.Aborted || !strings.HasPrefix(r.Text, "not enough memory") {
			t.Fatalf("got %+v", r)
		}
		if err := v.Broken(); err != nil {
			t.Fatalf("memory of the call counts after it: %v", err)
		}
		greet(t, v)
	}
	if r := run(t, v, "keep", ""); !r.Aborted {
		t.Fatalf("got %+v", r)
	}
	if v.Broken() == nil {
		t.Error("the VM is full and not broken")
	}
	if live, limit := v.Memory(); live < limit/2 || limit != luavm.DefaultMemory {
		t.Errorf("memory %d of %d", live, limit)
	}
	if r := run(t, v, "hello", `{"name":"x"}`); !r.Failed {
		t.Error("a broken VM takes calls")
	}
}

// The body of an answer must fit, or the request fails; it never aborts the call.
func TestBodyLargerThanMemory(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `local r, err = http.get("http://x/") ctx:complete(tostring(r) .. err)`))
	c := v.Call("t", "")
	want := step(t, c.Main()).Want.(luavm.HTTP)
	if want.MaxBody < 7<<20 || want.MaxBody > 8<<20 {
		t.Errorf("MaxBody is %d", want.MaxBody)
	}
	y := c.Main().Step(bg, luavm.Answer{Status: 200, Body: strings.Repeat("x", 9<<20)})
	if !y.Done || !strings.Contains(y.Result.Text, "more than the plugin's free memory") {
		t.Errorf("got %+v", y.Result)
	}
}

func TestLogOff(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `ctx:log(setmetatable({}, { __tostring = error })) print(1) ctx:complete("ok")`))
	if got := call(t, v, "t", ""); got != "ok" {
		t.Errorf("got %q", got)
	}
}

func TestClose(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `clm.spawn(function() clm.sleep(1) end) clm.sleep(1)`))
	before := runtime.NumGoroutine()
	c := v.Call("t", "")
	child := step(t, c.Main()).Spawned[0]
	step(t, child)
	v.Close()
	v.Close()
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	for _, task := range []*luavm.Task{c.Main(), child, v.Call("t", "").Main()} {
		if y := task.Step(bg, luavm.Answer{}); !y.Done {
			t.Errorf("task %d goes on", task.ID())
		}
		task.Kill("after the end")
	}
}

// Kills, steps and cancellations at random from many goroutines: for the race detector, and that all of it ends.
func TestRandomKills(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `
		local ts = {}
		for i = 1, 10 do ts[i] = clm.spawn(function() for j = 1, 20 do clm.sleep(j) for k = 1, 3000 do end end end) end
		pcall(clm.await_all, ts)
		ctx:complete("")`), helloPlugin)
	for round := range 30 {
		c := v.Call("t", "")
		tasks := append([]*luavm.Task{c.Main()}, step(t, c.Main()).Spawned...)
		ctx, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		for i, task := range tasks {
			wg.Go(func() {
				for range 20 {
					if y := task.Step(ctx, luavm.Answer{}); y.Done {
						return
					}
				}
			})
			if i%3 == round%3 {
				wg.Go(func() { task.Kill("random") })
			}
		}
		time.Sleep(time.Duration(round*37%11) * 100 * time.Microsecond)
		cancel()
		wg.Wait()
		for _, task := range tasks {
			task.Kill("end")
			if y := task.Step(bg, luavm.Answer{}); !y.Done {
				t.Fatal("a killed task goes on")
			}
		}
		greet(t, v)
	}
}

// One program in many VMs at once.
func TestSharedProgram(t *testing.T) {
	p, err := luavm.Compile("hello", helloPlugin)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				v := luavm.New(p, luavm.Options{})
				new(luavmtest.Simulation).Run(bg, v.Load())
				if r := new(luavmtest.Simulation).Run(bg, v.Call("hello", `{"name":"Ada"}`)); r.Text != "Hello, Ada!" {
					t.Errorf("got %+v", r)
				}
			}
		})
	}
	wg.Wait()
}

// Killing main ends its children, also the one that runs at that moment.
func TestKillMainEndsChildren(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `
		clm.spawn(function() while true do end end)
		clm.spawn(function() clm.sleep(1) end)
		clm.sleep(1)`), helloPlugin)
	c := v.Call("t", "")
	children := step(t, c.Main()).Spawned
	step(t, children[1])
	done := make(chan luavm.Yield)
	go func() { done <- children[0].Step(bg, luavm.Answer{}) }()
	time.Sleep(10 * time.Millisecond)
	c.Main().Kill("enough")
	if y := <-done; !y.Done {
		t.Errorf("the running child goes on: %+v", y)
	}
	for _, task := range []*luavm.Task{c.Main(), children[1]} {
		if y := task.Step(bg, luavm.Answer{}); !y.Done {
			t.Errorf("task %d goes on", task.ID())
		}
	}
	greet(t, v)
}

// The main chunk has no arguments: what the compiler passes to it stays hidden.
func TestArgumentsOfTheChunk(t *testing.T) {
	v := load(t, luavm.Options{}, `local n = select("#", ...) local first = ... local x = 7 // 2 & 3 | 9007199254740993 `,
		register("t", `ctx:complete(n .. tostring(first))`))
	if got := call(t, v, "t", ""); got != "0nil" {
		t.Errorf("got %q", got)
	}
}

// What one VM changes, no other sees.
func TestVMsShareNothing(t *testing.T) {
	a := load(t, luavm.Options{}, `
		for _, lib in ipairs({ string, table, math, utf8, clm, http, json }) do lib.mark = "mine" for k in pairs(lib) do lib[k] = 1 end end
		getmetatable("").__index = { rep = "mine" } getmetatable("").mark = "mine"
		for k in pairs(_G) do if k ~= "pairs" and k ~= "_G" then _G[k] = nil end end mark = "mine"`)
	b := load(t, luavm.Options{}, register("t", `
		local seen = { tostring(mark), tostring(getmetatable("").mark), type(("x").rep) }
		for _, lib in ipairs({ string, table, math, utf8, clm, http, json }) do seen[#seen + 1] = tostring(lib.mark) .. type(lib.rep or lib.insert or lib.pi or lib.char or lib.call or lib.get or lib.encode) end
		ctx:complete(table.concat(seen, " "))`))
	want := "nil nil function nilfunction nilfunction nilnumber nilfunction nilfunction nilfunction nilfunction"
	if got := call(t, b, "t", ""); got != want {
		t.Errorf("got %q", got)
	}
	if a.Loaded() != true {
		t.Error("the first VM did not load")
	}
}

// A panic of Go code below a script ends that call and the VM, nothing else.
func TestPanicInHost(t *testing.T) {
	v := load(t, luavm.Options{Log: func(text string) {
		if text == "boom" {
			panic("the host's fault")
		}
	}}, register("t", `pcall(print, "boom") ctx:complete("survived")`), helloPlugin)
	if r := run(t, v, "t", ""); !r.Aborted || r.Text != "internal error: the host's fault" {
		t.Errorf("got %+v", r)
	}
	if err := v.Broken(); err == nil || !strings.Contains(err.Error(), "plugin p: internal error") {
		t.Errorf("Broken is %v", err)
	}
}

// Each VM has random numbers of its own.
func TestRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 5 {
		v := load(t, luavm.Options{}, register("t", `ctx:complete(math.random() .. " " .. math.random(0))`))
		seen[call(t, v, "t", "")] = true
	}
	if len(seen) != 5 {
		t.Errorf("got %v", seen)
	}
}

func TestTooManyCaptured(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `
		local function deep(n)
			local a, b, c, d, e, f, g, h, i, j = n
			local keep = function() return a, b, c, d, e, f, g, h, i, j end
			if n > 0 then deep(n - 1) end
			return keep
		end
		assert(pcall(deep, 300))
		ctx:complete(select(2, pcall(deep, 900)))`))
	if got := call(t, v, "t", ""); !strings.Contains(got, "too many captured variables") {
		t.Errorf("got %q", got)
	}
}

// A result's bytes are the plugin's: making them safe is the host's.
func TestRawResult(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `ctx:complete("a\0b\255\27[31m")`), register("f", `ctx:fail("\0\255")`))
	if got := call(t, v, "t", ""); got != "a\x00b\xff\x1b[31m" {
		t.Errorf("got %q", got)
	}
	if r := run(t, v, "f", ""); r.Text != "\x00\xff" || !r.Failed || r.Aborted {
		t.Errorf("got %+v", r)
	}
}

// The host is told of a slice that is no short one, once, and of no other.
func TestOnLong(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		want int
	}{
		"short":   {`ctx:complete("x")`, 0},
		"steps":   {`local n = 0 for i = 1, 1000 do n = n + 1 end ctx:complete("x")`, 0},
		"loop":    {`for i = 1, 1e6 do end ctx:complete("x")`, 1},
		"library": {`(("x"):rep(3e6)):find("y") ctx:complete("x")`, 1},
		"memory":  {`local t = {} for i = 1, 60 do t[i] = ("x"):rep(1e5) end ctx:complete("x")`, 1},
	} {
		v := load(t, luavm.Options{}, register("t", c.code))
		got := 0
		v.OnLong(func() { got++ })
		y := v.Call("t", "").Main().Step(t.Context(), luavm.Answer{})
		if !y.Done || y.Result.Failed || got != c.want {
			t.Errorf("%s: %+v, told %d times, want %d", name, y.Result, got, c.want)
		}
		if v.Call("t", "").Main().Step(t.Context(), luavm.Answer{}); got != c.want {
			t.Errorf("%s: what one Step was to call is called by the next", name)
		}
	}
}

// A VM holds nothing of a host's call that is over: it outlives thousands of them.
func TestOnLongIsLetGo(t *testing.T) {
	v := load(t, luavm.Options{}, register("t", `ctx:complete("x")`))
	held := func() weak.Pointer[[64]byte] {
		x := new([64]byte)
		v.OnLong(func() { x[0]++ })
		v.Call("t", "").Main().Step(t.Context(), luavm.Answer{})
		return weak.Make(x)
	}()
	runtime.GC()
	if held.Value() != nil {
		t.Error("what a Step was to call is held after it")
	}
	runtime.KeepAlive(v)
}
