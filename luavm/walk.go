package luavm

import (
	"math/bits"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

// walk measures what the VM's Lua values hold: everything reachable from its globals, registry and threads, once
// each. Library tables and functions that all VMs share cost nothing.
func (v *VM) walk() { v.walkUntil(time.Time{}) }

// walkUntil gives up at the deadline, unless it is zero, and then reports false.
func (v *VM) walkUntil(deadline time.Time) bool {
	w := walkers.Get().(*walker)
	w.total, w.shared = v.pinned, v.shared
	w.table(v.g.Global)
	w.table(v.g.Registry)
	w.push((*layout.TypeMetatables(v.g))[int(lua.LTString)])
	for _, f := range v.invokes {
		w.push(f)
	}
	for _, c := range v.calls {
		for _, t := range c.tasks {
			w.task(t)
		}
		for _, t := range c.failed {
			w.outcome(t)
		}
		if c.configT != nil {
			w.push(c.configT)
		}
	}
	defer w.release()
	if !w.run(deadline) {
		return false
	}
	v.live, v.alloc = w.total, 0
	v.left -= int64(w.seen.n) * 8
	v.used.Store(v.live)
	return true
}

type walker struct {
	seen   addressSet
	queue  []lua.LValue
	total  int64
	shared *sharedLibs
	page   uintptr // of the number before
}

var walkers = sync.Pool{New: func() any { return &walker{} }}

func (w *walker) release() {
	w.seen.reset()
	clear(w.queue[:cap(w.queue)]) // a pooled walker must not keep the values of a VM
	w.queue = w.queue[:0]
	if cap(w.queue) <= 1<<16 && len(w.seen.slots) <= 1<<20 {
		walkers.Put(w)
	}
}

func (w *walker) task(t *Task) {
	w.total += stackBytes(t.deepest)
	for _, th := range t.threads {
		w.thread(th)
	}
	w.push(t.fn)
	for _, a := range t.args {
		w.push(a)
	}
	w.outcome(t)
}

func (w *walker) outcome(t *Task) {
	if w.seen.add(layout.PointerAddress(t)) {
		w.total += 256
		w.bytes(t.err)
		w.push(t.value)
		if t.handle != nil {
			w.push(t.handle)
		}
		w.table(t.table)
	}
}

func (w *walker) thread(th *thread) {
	regs := layout.Registers(th.L)
	w.total += int64(cap(regs))*slotBytes + th.hook.Bytes() + 400
	for _, v := range regs[:layout.Top(th.L)] {
		w.push(v)
	}
	for f := layout.CurrentFrame(th.L); f != nil; f = f.Parent {
		w.total += 88
		w.function(f.Fn)
	}
}

func (w *walker) push(v lua.LValue) {
	switch x := v.(type) {
	case nil, lua.LBool, *lua.LNilType:
	case lua.LString:
		w.bytes(string(x))
	case lua.LNumber:
		w.number(layout.Address(v) &^ (pageBytes - 1))
	case *lua.LTable:
		w.table(x)
	case *lua.LFunction:
		w.function(x)
	case *lua.LUserData:
		if x != nil && w.seen.add(layout.PointerAddress(x)) {
			w.queue = append(w.queue, x)
		}
	default: // boxed integers
		w.total += 16
	}
}

func (w *walker) table(t *lua.LTable) {
	if t != nil && !w.shared.tables[t] && w.seen.add(layout.PointerAddress(t)) {
		w.queue = append(w.queue, t)
	}
}

func (w *walker) function(f *lua.LFunction) {
	if f == nil || f.IsG && f.Env == nil && len(f.Upvalues) == 0 { // of a shared library
		return
	}
	if w.seen.add(layout.PointerAddress(f)) {
		w.queue = append(w.queue, f)
	}
}

// pageBytes is what gopher-lua allocates for numbers at once: one of them keeps all 32.
const pageBytes = 256

func (w *walker) number(page uintptr) {
	if page != w.page && w.seen.add(page) {
		w.total += pageBytes
	}
	w.page = page
}

// bytes counts a string and one header of it.
func (w *walker) bytes(s string) {
	if len(s) > 0 && w.seen.add(layout.StringAddress(s)) {
		w.total += int64(len(s)+15)&^15 + 16
	}
}

func (w *walker) run(deadline time.Time) (whole bool) {
	for n := 1; len(w.queue) > 0; n++ {
		if n%8192 == 0 && !deadline.IsZero() && !time.Now().Before(deadline) {
			return false
		}
		v := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		switch x := v.(type) {
		case *lua.LTable:
			w.insideTable(x)
		case *lua.LFunction:
			w.insideFunction(x)
		case *lua.LUserData:
			w.total += 64
			w.push(x.Metatable)
			if t, ok := x.Value.(*Task); ok {
				w.outcome(t)
			}
			if c, ok := x.Value.(*Call); ok {
				w.total += 512
				w.bytes(c.rawArgs)
			}
		}
	}
	return true
}

func (w *walker) insideTable(t *lua.LTable) {
	arr, strs, dict, keys := layout.Array(t), layout.Strings(t), layout.Dict(t), layout.Keys(t)
	w.total += tableBytes + int64(cap(arr)+cap(keys))*slotBytes
	for _, e := range arr {
		w.push(e)
	}
	kept := len(layout.Index(t)) // maps do not shrink, and this one keeps what was deleted
	if strs != nil {
		w.total += mapBytes(max(len(strs), kept-len(dict)), 33)
		for k, e := range strs {
			w.bytes(k)
			w.push(e)
		}
	}
	if dict != nil {
		w.total += mapBytes(max(len(dict), kept-len(strs)), 33)
		for k, e := range dict {
			w.push(k)
			w.push(e)
		}
	}
	if keys != nil {
		w.total += mapBytes(kept, 25)
		for _, k := range keys {
			w.push(k)
		}
	}
	if mt, ok := t.Metatable.(*lua.LTable); ok {
		w.table(mt)
	}
}

func (w *walker) insideFunction(f *lua.LFunction) {
	w.total += 80 + int64(len(f.Upvalues))*8
	for _, u := range f.Upvalues {
		if u != nil && w.seen.add(layout.PointerAddress(u)) {
			w.total += 48
			layout.ForgetRegisters(u)
			w.push(u.Value())
		}
	}
	w.table(f.Env)
}

// mapBytes is what a Go map of n entries takes: groups of eight slots, grown by powers of two at 7/8 load.
func mapBytes(n, slot int) int64 {
	if n == 0 {
		return 48
	}
	slots := 8
	for slots*7/8 < n && !(slots == 8 && n == 8) {
		slots *= 2
	}
	return 48 + int64(slots*slot)
}

// addressSet is an open addressing set of addresses, reused between walks.
type addressSet struct {
	slots []uintptr
	used  []uint32
	n     int
}

func (s *addressSet) reset() {
	if len(s.used)*8 < len(s.slots) {
		for _, i := range s.used {
			s.slots[i] = 0
		}
	} else {
		clear(s.slots)
	}
	s.used = s.used[:0]
	s.n = 0
}

// add reports whether p is new.
func (s *addressSet) add(p uintptr) bool {
	if s.n*2 >= len(s.slots) {
		s.grow()
	}
	mask := uintptr(len(s.slots) - 1)
	for h := s.hash(p); ; h++ {
		switch s.slots[h&mask] {
		case p:
			return false
		case 0:
			s.slots[h&mask] = p
			s.used = append(s.used, uint32(h&mask))
			s.n++
			return true
		}
	}
}

func (s *addressSet) hash(p uintptr) uintptr {
	return uintptr((uint64(p) * 0x9E3779B97F4A7C15) >> (64 - bits.Len(uint(len(s.slots)-1))))
}

func (s *addressSet) grow() {
	old := s.slots
	s.slots = make([]uintptr, max(1<<10, len(old)*2))
	s.used, s.n = s.used[:0], 0
	for _, p := range old {
		if p != 0 {
			s.add(p)
		}
	}
}
