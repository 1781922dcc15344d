package luavm

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/jsonlua"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/stdlib"
)

func httpFunctions() []apiFunction {
	return []apiFunction{
		{"get", func(a api) int {
			a.mustWait()
			return a.request("GET", a.str(1), "", a.L.Get(2))
		}},
		{"post", func(a api) int {
			a.mustWait()
			body := ""
			if a.L.Get(2) != lua.LNil {
				body = a.str(2)
			}
			return a.request("POST", a.str(1), body, a.L.Get(3))
		}},
	}
}

// request waits for one HTTP request. What is wrong with it is a second result, as for one that fails on the way.
func (a api) request(method, target, body string, headers lua.LValue) int {
	if a.v.inFlight >= MaxInFlight {
		return a.failed(fmt.Sprintf("too many requests: %d are in flight", MaxInFlight))
	}
	if a.c.requests >= MaxRequests {
		return a.failed(fmt.Sprintf("too many requests: a call may make %d", MaxRequests))
	}
	if problem := checkURL(target); problem != "" {
		return a.failed(problem)
	}
	hs, problem := a.headers(headers)
	if problem != "" {
		return a.failed(problem)
	}
	if method == "POST" && !slices.ContainsFunc(hs, func(h Header) bool { return strings.EqualFold(h.Name, "Content-Type") }) {
		hs = append(hs, Header{"Content-Type", "application/json"})
	}
	slices.SortFunc(hs, func(x, y Header) int { return cmp.Compare(x.Name, y.Name) })
	want := HTTP{Method: method, URL: target, Headers: hs, Body: body, Tool: a.c.tool}
	want.MaxBody = a.share()
	a.c.requests++
	in := a.inFlight(want)
	if in.Err != "" {
		return a.failed(in.Err)
	}
	text, ok := a.foreign(in.Body)
	if !ok {
		return a.failed(fmt.Sprintf("the response body has %d bytes, more than the plugin's free memory", len(in.Body)))
	}
	a.L.Push(layout.NewRecord([]lua.LValue{lua.LString("status"), lua.LNumber(in.Status), lua.LString("body"), text}, nil))
	return 1
}

// inFlight waits for want and counts it as in flight until it is answered or its task ends.
func (a api) inFlight(want HTTP) Answer {
	a.v.inFlight++
	defer func() { a.v.inFlight-- }()
	return a.t.await(want)
}

// Limits of a request.
const (
	maxURL        = 16 << 10
	maxHeaders    = 64
	maxFieldName  = 256
	maxFieldValue = 16 << 10
)

func checkURL(target string) string {
	if len(target) > maxURL {
		return fmt.Sprintf("the URL has %d bytes, more than %d", len(target), maxURL)
	}
	u, err := url.Parse(target)
	if err != nil {
		return "the URL cannot be parsed: " + strings.TrimPrefix(err.Error(), "parse ")
	}
	if u.Scheme == "" {
		return fmt.Sprintf("the URL %s has no scheme: it begins with http:// or https://", quote(target))
	}
	if s := strings.ToLower(u.Scheme); s != "http" && s != "https" {
		return fmt.Sprintf("unsupported URL scheme %.40q: only http and https are", u.Scheme)
	}
	if u.Hostname() == "" {
		return "the URL has no host"
	}
	return ""
}

func (a api) headers(v lua.LValue) (hs []Header, problem string) {
	if v == lua.LNil {
		return nil, ""
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, "the headers are a " + number.TypeName(v) + ", not a table"
	}
	if len(layout.Array(t)) > 0 {
		return nil, `the headers are an array, not a table of names and values like { ["X-Name"] = "value" }`
	}
	if len(layout.Keys(t)) > 1000 {
		return nil, "too many headers"
	}
	seen := map[string]bool{}
	for _, k := range layout.Keys(t) {
		v := t.RawGetH(k)
		if v == lua.LNil {
			continue
		}
		name, isName := k.(lua.LString)
		value, isText := number.ToString(v)
		lower := strings.ToLower(string(name))
		switch {
		case !isName:
			return nil, "a header's name is a " + number.TypeName(k) + ", not a string"
		case !validFieldName(string(name)):
			return nil, fmt.Sprintf("a header's name is not valid: %s: it has 1 to %d letters, digits, - and the like", quote(string(name)), maxFieldName)
		case !isText:
			return nil, fmt.Sprintf("the value of header %s is a %s, not a string", quote(string(name)), number.TypeName(v))
		case len(value) > maxFieldValue:
			return nil, fmt.Sprintf("the value of header %s has %d bytes, more than %d", quote(string(name)), len(value), maxFieldValue)
		case strings.ContainsFunc(value, isControl):
			return nil, "the value of header " + quote(string(name)) + " holds a line break or another control character"
		case seen[lower]:
			return nil, "header " + quote(string(name)) + " is given twice"
		case len(hs) >= maxHeaders:
			return nil, fmt.Sprintf("more than %d headers", maxHeaders)
		}
		seen[lower] = true
		hs = append(hs, Header{string(name), value})
	}
	return hs, ""
}

func validFieldName(s string) bool {
	return s != "" && len(s) <= maxFieldName && !strings.ContainsFunc(s, func(r rune) bool {
		return r > '~' || r <= ' ' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// free is how many bytes the VM may still take, measured anew when the estimate is low.
func (v *VM) free() int64 {
	if v.limit-v.live-v.alloc < v.limit/2 {
		v.walk()
		v.trigger = max((v.limit-v.live)/2, minTrigger)
	}
	return max(v.limit-v.live-v.alloc, 0)
}

// share is how many bytes one more answer may have: the host holds it, and those that others wait for, until this VM
// has time for them. Answers that fit the free memory together all get as much as they need.
func (a api) share() int64 { return a.v.free() / int64(a.v.inFlight+a.v.reading+1) }

// foreign takes a text from outside into the VM; not ok: it does not fit.
func (a api) foreign(s string) (lua.LValue, bool) {
	n := int64(len(s)) + slotBytes
	if n > a.v.free() {
		return nil, false
	}
	a.v.Charge(a.L, n)
	return lua.LString(s), true
}

// answered pushes the result of a want whose answer is a text.
func (a api) answered(in Answer) int {
	if in.Err != "" {
		return a.failed(in.Err)
	}
	text, ok := a.foreign(in.Text)
	if !ok {
		return a.failed(fmt.Sprintf("the text has %d bytes, more than the plugin's free memory", len(in.Text)))
	}
	a.L.Push(text)
	return 1
}

func apiSleep(a api) int {
	a.mustWait()
	a.t.await(Sleep{For: a.milliseconds(1)})
	return 0
}

func apiReadFile(a api) int {
	path := a.str(1)
	if problem := a.checkPath(path); problem != "" {
		return a.failed(problem)
	}
	want := ReadFile{Path: path, MaxBytes: a.share()}
	a.v.reading++
	defer func() { a.v.reading-- }()
	return a.answered(a.t.await(want))
}

func apiWriteFile(a api) int {
	path, content := a.str(1), a.str(2)
	if problem := a.checkPath(path); problem != "" {
		return a.failed(problem)
	}
	if in := a.t.await(WriteFile{Path: path, Content: content}); in.Err != "" {
		return a.failed(in.Err)
	}
	a.L.Push(lua.LTrue)
	return 1
}

func apiCall(a api) int {
	a.mustWait()
	want := CallTool{Name: a.str(1), Args: "{}"}
	switch args := a.L.Get(2).(type) {
	case *lua.LNilType:
	case lua.LString:
		want.Args = string(args)
	case *lua.LTable:
		text, err := jsonlua.Encode(a.L, args)
		if err != nil {
			a.raise("%v", err)
		}
		want.Args = text
	default:
		a.badArgument(2, "a table or a JSON text")
	}
	if a.v.calling >= MaxCalls { // each takes memory of the host's, and its arguments many times their size
		return a.failed(fmt.Sprintf("too many calls: %d are in flight", MaxCalls))
	}
	size := len(want.Args)
	if a.v.callArgs+size > MaxCallArgs {
		return a.failed(fmt.Sprintf("the arguments of the calls in flight have %d bytes, more than %d", a.v.callArgs+size, MaxCallArgs))
	}
	a.v.calling++
	a.v.callArgs += size
	defer func() {
		a.v.calling--
		a.v.callArgs -= size
	}()
	return a.answered(a.t.await(want))
}

// What the API functions share.

// mustWait raises unless the code may wait here.
func (a api) mustWait() {
	if a.c.loading {
		a.raise("%s may not be called at load time, only inside invoke and its tasks", a.name)
	}
	if a.c.done {
		a.raise("%s may not be called after ctx:complete or ctx:fail", a.name)
	}
}

// mustBeMain raises in a child task.
func (a api) mustBeMain() {
	if a.t != &a.c.main {
		a.raise("%s may only be called from the main coroutine of invoke, not from a task", a.name)
	}
}

func (a api) raise(format string, args ...any) {
	text := stdlib.Where(a.L, 1) + fmt.Sprintf(format, args...)
	a.v.Charge(a.L, int64(len(text)))
	stdlib.Raise(a.L, lua.LString(text))
}

func (a api) badArgument(n int, want string) {
	if strings.Contains(a.name, ":") { // a method: its first argument is in front of the colon
		if n--; n == 0 {
			a.raise("calling '%s' on bad self (%s expected, got %s): write it with a colon, as here", a.name, want, a.typeName(1))
		}
		a.raise("bad argument #%d to '%s' (%s expected, got %s)", n, a.name, want, a.typeName(n+1))
	}
	a.raise("bad argument #%d to '%s' (%s expected, got %s)", n, a.name, want, a.typeName(n))
}

func (a api) typeName(n int) string {
	if n > a.L.GetTop() {
		return "no value"
	}
	return number.TypeName(a.L.Get(n))
}

// str is a string argument; numbers are taken as their text.
func (a api) str(n int) string {
	s, ok := number.ToString(a.L.Get(n))
	if !ok {
		a.badArgument(n, "string")
	}
	return s
}

// checkPath says why a file may not be asked for. At load time no wall limit ends a loop of file accesses, which are
// no time of the plugin's.
func (a api) checkPath(p string) (problem string) {
	if a.c.loading {
		if a.c.accesses >= MaxLoadFiles {
			return fmt.Sprintf("too many file accesses: load-time code may make %d", MaxLoadFiles)
		}
		a.c.accesses++
	}
	switch {
	case p == "":
		return "the path is empty"
	case len(p) > 4096:
		return fmt.Sprintf("the path has %d bytes, more than 4096", len(p))
	}
	return ""
}

func (a api) milliseconds(n int) time.Duration {
	f, ok := number.ToFloat(a.L.Get(n))
	if !ok {
		a.badArgument(n, "number")
	}
	if math.IsNaN(f) || f < 0 {
		a.raise("bad argument #%d to '%s' (milliseconds cannot be %v)", n, a.name, f)
	}
	return time.Duration(min(f, 1e12) * float64(time.Millisecond))
}

// failed is the pair nil, text.
func (a api) failed(text string) int {
	a.v.alloc += int64(len(text))
	a.L.Push(lua.LNil)
	a.L.Push(lua.LString(text))
	return 2
}
