package stdlib

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	diffSeed  = flag.Uint64("seed", 0, "seed of the differential test, 0 for a new one")
	diffCount = flag.Int("calls", 3000, "calls in the differential test")
)

// TestDifferential makes random calls and compares results and error messages
// with those of the reference.
func TestDifferential(t *testing.T) {
	if _, err := exec.LookPath(reference); err != nil {
		t.Skip("no " + reference)
	}
	seed := *diffSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	g := &generator{rand.New(rand.NewPCG(seed, 0))}
	const batch = 1000
	for left := *diffCount; left > 0; left -= batch {
		codes := make([]string, min(left, batch))
		for i := range codes {
			codes[i] = g.call()
		}
		bad := 0
		for i, want := range runReference(t, codes) {
			got := runSnippet(t, codes[i])
			if strings.TrimSpace(got) == strings.TrimSpace(want) {
				continue
			}
			if bad++; bad <= 10 {
				t.Errorf("seed %d\n%s\n got %s\nwant %s", seed, codes[i], got, want)
			}
		}
	}
}

// A generator makes random calls of library functions. It avoids what differs on
// purpose: floats without fraction, zero as a divisor among floats.
type generator struct{ *rand.Rand }

func oneOf[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) call() string {
	return oneOf(g, g.find, g.find, g.gsub, g.gmatch, g.format, g.format, g.pack, g.unpack, g.slices,
		g.tonumber, g.list, g.list, g.utf8, g.math, g.operator, g.operator, g.misuse, g.proxy, g.protected, g.float, g.float)()
}

// quoted makes a Lua literal.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03d`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + `"`
}

func (g *generator) join(n int, parts ...string) string {
	var b strings.Builder
	for range g.IntN(n + 1) {
		b.WriteString(oneOf(g, parts...))
	}
	return b.String()
}

func (g *generator) text() string {
	return g.join(9, "a", "b", "c", "ab", "A", "1", "23", " ", "_", ".", "-", "%", "(", ")", "[", "]", "x=1", "\n", "\x00", "\xc3\xa9", "aa", "", "^", "$")
}

func (g *generator) pattern() string {
	single := func() string {
		return oneOf(g, "a", "b", ".", "%a", "%d", "%s", "%w", "%p", "%S", "%u", "%x", "%A", "%%", "%.", "%-", "[ab]", "[^a]", "[a-c]", "[%a_]", "[^%s]", "[]]", "[a-]", "[%]]", "1", "%z", "%g", "%c")
	}
	var b strings.Builder
	if g.IntN(6) == 0 {
		b.WriteString("^")
	}
	open := 0
	for range g.IntN(6) {
		switch g.IntN(12) {
		case 0:
			b.WriteString("(")
			open++
		case 1:
			if open > 0 {
				b.WriteString(")")
				open--
			}
		case 2:
			b.WriteString(oneOf(g, "()", "%b()", "%f[%a]", "%f[^a]", "%1", "%bab"))
		default:
			b.WriteString(single() + oneOf(g, "", "", "*", "+", "-", "?"))
		}
	}
	b.WriteString(strings.Repeat(")", open))
	if g.IntN(6) == 0 {
		b.WriteString("$")
	}
	if g.IntN(15) == 0 {
		return b.String() + oneOf(g, "%", "[", "(", ")", "[a", "%f", "%b", "%9", "[^", "[%", "*", "+")
	}
	return b.String()
}

func (g *generator) int() string {
	return oneOf(g, "0", "1", "2", "3", "-1", "-2", "-3", "5", "10", "-10", "100", "7")
}

func (g *generator) bigInt() string {
	return oneOf(g, g.int(), g.int(), "9007199254740993", "-9007199254740995", "math.maxinteger", "math.mininteger", "0xff", "0x7fffffffffffffff", "1 << 60", "255", "65536", "4294967296", "-2147483649")
}

func (g *generator) fraction() string {
	return oneOf(g, "0.5", "-1.5", "2.25", "1e-3", "-0.1", "3.14159", "1e100", "1e300", "-1e20", "0/0", "1/0", "-1/0", "1e-310", "123456.789")
}

func (g *generator) value() string {
	return oneOf(g, g.int(), g.bigInt(), g.fraction(), quoted(g.text()), "nil", "true", "{}", `"10"`, `"0x1p4"`, `" 5 "`, `"1e1"`)
}

func (g *generator) find() string {
	f := oneOf(g, "find", "match", "find", "match")
	s, p := quoted(g.text()), quoted(g.pattern())
	switch g.IntN(4) {
	case 0:
		return fmt.Sprintf("string.%s(%s, %s, %s)", f, s, p, g.int())
	case 1:
		return fmt.Sprintf("string.find(%s, %s, %s, true)", s, quoted(g.text()), g.int())
	}
	return fmt.Sprintf("string.%s(%s, %s)", f, s, p)
}

func (g *generator) gsub() string {
	repl := oneOf(g, quoted(g.join(4, "x", "%0", "%1", "%2", "%%", "<", ">", "%")), `{a = "1", b = 2, ["1"] = false}`,
		`function(...) return table.concat({...}, "|") end`, `function(x) return x .. "!" end`, `function() end`, g.value())
	limit := ""
	if g.IntN(3) == 0 {
		limit = ", " + g.int()
	}
	return fmt.Sprintf("string.gsub(%s, %s, %s%s)", quoted(g.text()), quoted(g.pattern()), repl, limit)
}

func (g *generator) gmatch() string {
	init := ""
	if g.IntN(3) == 0 {
		init = ", " + g.int()
	}
	return fmt.Sprintf("local r = {} for a, b in string.gmatch(%s, %s%s) do r[#r + 1] = a r[#r + 1] = b or 0 end return r",
		quoted(g.text()), quoted(g.pattern()), init)
}

func (g *generator) format() string {
	var f strings.Builder
	var values []string
	for range g.IntN(4) {
		f.WriteString(oneOf(g, "", "x", "%%", " "))
		spec := "%" + g.join(2, "-", "+", " ", "#", "0") + oneOf(g, "", "", "5", "12", "3") + oneOf(g, "", "", ".", ".0", ".3", ".10")
		switch verb := oneOf(g, "d", "i", "u", "x", "X", "o", "c", "e", "f", "g", "G", "E", "a", "A", "s", "q", "s", "F", "y"); verb {
		case "d", "i", "u", "x", "X", "o":
			f.WriteString(spec + verb)
			values = append(values, oneOf(g, g.bigInt(), g.bigInt(), g.value()))
		case "c":
			f.WriteString(spec + verb)
			values = append(values, oneOf(g, "65", "0", "255", "10"))
		case "s", "q":
			f.WriteString(oneOf(g, "%", spec) + verb)
			values = append(values, oneOf(g, g.bigInt(), g.fraction(), quoted(g.text()), "nil", "true"))
		default:
			f.WriteString(spec + verb)
			values = append(values, oneOf(g, g.bigInt(), g.fraction(), g.fraction()))
		}
	}
	if g.IntN(20) == 0 {
		f.WriteString("%")
	}
	return fmt.Sprintf("string.format(%s)", strings.Join(append([]string{quoted(f.String())}, values...), ", "))
}

func (g *generator) packFormat() string {
	return g.join(5, "<", ">", "=", "!", "!4", "!8", "b", "B", "h", "H", "i", "I", "l", "j", "J", "i3", "I5", "i16", "I9", "f", "d", "n", "s", "s1", "s2", "z", "x", "Xi4", "Xd", "c3", "c0", " ", "i7")
}

func (g *generator) pack() string {
	f := g.packFormat()
	var values []string
	for range 5 {
		values = append(values, oneOf(g, g.int(), g.int(), g.bigInt(), quoted(g.text())))
	}
	return oneOf(g, fmt.Sprintf("string.pack(%s, %s)", quoted(f), strings.Join(values, ", ")), fmt.Sprintf("string.packsize(%s)", quoted(f)))
}

func (g *generator) unpack() string {
	data := g.join(20, "\x00", "\x01", "\xff", "a", "\x7f", "\x80", "\x02")
	return fmt.Sprintf("string.unpack(%s, %s%s)", quoted(g.packFormat()), quoted(data), oneOf(g, "", "", ", "+g.int()))
}

func (g *generator) slices() string {
	s := quoted(g.text())
	return fmt.Sprintf(oneOf(g, "string.sub(%[1]s, %[2]s, %[3]s)", "string.byte(%[1]s, %[2]s, %[3]s)", "string.rep(%[1]s, %[3]s, %[4]s)",
		"string.upper(%[1]s), string.lower(%[1]s), string.reverse(%[1]s), #%[1]s", "(%[1]s):sub(%[2]s)", "string.char(%[5]s, 65)"),
		s, g.bigInt(), g.int(), quoted(oneOf(g, "", ",")), oneOf(g, "0", "255", "-1", "256", "10"))
}

func (g *generator) tonumber() string {
	s := g.join(5, "0", "1", "9", "x", "0x", "a", "f", ".", "e", "p", "+", "-", " ", "1e5", "inf", "nan", "_", "z", "12", "\t", "0x1p")
	if g.IntN(3) == 0 {
		return fmt.Sprintf("tonumber(%s, %s)", quoted(s), oneOf(g, "2", "10", "16", "36", "8", "1", "37"))
	}
	return fmt.Sprintf("tonumber(%s)", quoted(s))
}

// list works on one table and shows it at the end.
func (g *generator) list() string {
	var b strings.Builder
	b.WriteString("local t = {" + strings.TrimSuffix(strings.Repeat("%s, ", g.IntN(6)), ", ") + "} ")
	code := b.String()
	for strings.Contains(code, "%s") {
		code = strings.Replace(code, "%s", oneOf(g, "1", "2", "5", "3", "7", "4"), 1)
	}
	for range g.IntN(6) {
		switch g.IntN(8) {
		case 0:
			code += fmt.Sprintf("table.insert(t, %s) ", g.int())
		case 1:
			code += fmt.Sprintf("table.insert(t, %s, %s) ", oneOf(g, "1", "2", "#t", "#t + 1", g.int()), g.int())
		case 2:
			code += "table.remove(t) "
		case 3:
			code += fmt.Sprintf("table.remove(t, %s) ", oneOf(g, "1", "2", "#t", "#t + 1", g.int()))
		case 4:
			code += "table.sort(t" + oneOf(g, "", ", function(a, b) return a > b end", ", function(a, b) return a % 3 < b % 3 end") + ") "
		case 5:
			code += fmt.Sprintf("table.move(t, %s, #t, %s) ", oneOf(g, "1", "2"), oneOf(g, "1", "2")) // no holes: # may differ then
		case 6:
			code += "t[#t + 1] = " + g.int() + " "
		default:
			code += "t[#t] = nil "
		}
	}
	return code + oneOf(g, "return t, #t", `return table.concat(t, ",")`, "return table.unpack(t)", fmt.Sprintf(`return table.concat(t, "-", %s, %s)`, g.int(), g.int()),
		fmt.Sprintf("return table.unpack(t, %s, %s)", oneOf(g, "1", "2"), oneOf(g, "1", "3", "#t")), "return select('#', table.unpack(t)), table.pack(table.unpack(t)).n",
		"local r = {} for k, v in pairs(t) do r[#r + 1] = k * v end return r", "local r = {} for k, v in ipairs(t) do r[#r + 1] = v end return r")
}

func (g *generator) utf8() string {
	s := quoted(g.join(6, "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\x80", "\xff", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\x00", "\xe2\x82", "\xfd\xbf\xbf\xbf\xbf\xbf"))
	return fmt.Sprintf(oneOf(g, "utf8.len(%[1]s, %[2]s, %[3]s%[4]s)", "utf8.len(%[1]s)", "utf8.codepoint(%[1]s, %[2]s, %[3]s%[4]s)", "utf8.offset(%[1]s, %[2]s)", "utf8.offset(%[1]s, %[2]s, %[3]s)",
		"local r = {} for p, c in utf8.codes(%[1]s%[4]s) do r[#r + 1] = p r[#r + 1] = c end return r", "utf8.char(%[5]s, 65)"),
		s, g.int(), g.int(), oneOf(g, "", ", true"), oneOf(g, "0", "127", "128", "2047", "2048", "65535", "65536", "1114111", "1114112", "2147483647", "-1"))
}

func (g *generator) math() string {
	x, y := oneOf(g, g.bigInt(), g.fraction()), oneOf(g, g.bigInt(), g.fraction())
	if g.IntN(8) == 0 {
		if g.IntN(4) == 0 { // others may differ in the last of the digits that are shown
			return fmt.Sprintf("math.log(1e%d, 10)", g.IntN(22))
		}
		return fmt.Sprintf("math.log(%d, %s)", 1+g.IntN(2000), oneOf(g, "2", "3", "5", "7", "1000"))
	}
	f := oneOf(g, "abs", "ceil", "floor", "sqrt", "tointeger", "type", "max", "min", "fmod", "ult", "modf", "atan", "exp", "sin", "deg")
	switch f {
	case "max", "min", "ult", "atan":
		return fmt.Sprintf("math.%s(%s, %s)", f, x, y)
	case "fmod":
		return fmt.Sprintf("math.fmod(%s, %s)", g.bigInt(), g.bigInt())
	case "ceil", "floor", "modf":
		return fmt.Sprintf("math.%s(%s)", f, oneOf(g, g.bigInt(), "0.5", "-1.5", "2.25", "-0.1", "3.14159", "0/0", "1/0"))
	}
	if f == "sin" || f == "exp" { // the libraries' last digits differ for large ones
		x = oneOf(g, "0.5", "-1.5", "2.25", "1", "3")
	}
	return fmt.Sprintf("math.%s(%s)", f, x)
}

func (g *generator) operator() string {
	op := oneOf(g, "//", "%", "&", "|", "~", "<<", ">>", "..")
	x, y := oneOf(g, g.bigInt(), g.value()), oneOf(g, g.bigInt(), g.value())
	switch op {
	case "//", "%":
		x, y = g.bigInt(), oneOf(g, g.bigInt(), "0.5", "-1.5", `"7"`, "nil", "{}")
	case "&", "|", "~", "<<", ">>":
		if g.IntN(8) == 0 {
			return "~" + oneOf(g, g.bigInt(), g.value())
		}
	case "..":
		y = oneOf(g, g.bigInt(), quoted(g.text()), "0.5", "nil", "{}")
	}
	return fmt.Sprintf("local x, y = %s, %s return x %s y", x, y, op)
}

// float prints or reads some float64 that is no integer.
func (g *generator) float() string {
	x := math.Float64frombits(g.Uint64())
	switch g.IntN(4) {
	case 0:
		x = (g.Float64() - 0.5) * math.Pow(10, float64(g.IntN(24)))
	case 1:
		x = math.Float64frombits(g.Uint64() & (1<<52 - 1)) // not normalized
	case 2:
		x = float64(g.IntN(100000)) / 1000
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || math.Abs(x) <= 1<<53 && x == math.Trunc(x) {
		x = 0.1
	}
	literal := strconv.FormatFloat(x, 'x', -1, 64)
	flags := g.join(2, "-", "+", " ", "#", "0") + oneOf(g, "", "10", "3", "25")
	switch g.IntN(4) {
	case 0:
		return "tostring(" + literal + "), " + literal
	case 1:
		return "tonumber(" + quoted(strconv.FormatFloat(x, oneOf[byte](g, 'e', 'f', 'g', 'x'), g.IntN(25), 64)) + ")"
	}
	return fmt.Sprintf("string.format(%s, %s)", quoted("%"+flags+oneOf(g, "", ".0", ".1", ".3", ".14", ".17", ".40")+oneOf(g, "e", "f", "g", "a", "E", "G", "A", "q")), literal)
}

// proxy works on a list behind metamethods and shows also in which order it was
// read and written.
func (g *generator) proxy() string {
	code := `local base, log = {3, 1, 2, 5, 4}, {}
local p = setmetatable({}, {__len = function() return #base end,
__index = function(_, k) log[#log + 1] = k return base[k] end,
__newindex = function(_, k, v) log[#log + 1] = -k base[k] = v end}) `
	for range 1 + g.IntN(3) {
		code += oneOf(g, "table.insert(p, 7) ", "table.insert(p, 2, 7) ", "table.remove(p) ", "table.remove(p, 1) ", "table.remove(p, 3) ",
			"table.concat(p, ',') ", "table.unpack(p) ", "table.move(p, 1, 3, 2) ", "table.move(p, 2, 4, 1) ", "table.move(p, 1, 2, 1, {}) ", "table.move({8, 9}, 1, 2, 2, p) ",
			"for i, v in ipairs(p) do log[#log + 1] = v end ", "log[#log + 1] = rawlen(p) ", "log[#log + 1] = rawget(p, 2) ",
			"string.gsub('abc', '%w', setmetatable({}, {__index = function(_, k) log[#log + 1] = k return k .. k end})) ", "next(p) ", "pcall(table.concat, p, ',', 1, 9) ")
	}
	return code + "return log, base"
}

// protected makes errors, catches them, and looks at what arrives.
func (g *generator) protected() string {
	raise := oneOf(g, `error("msg")`, `error("msg", 0)`, `error("msg", 2)`, `error({1, 2})`, `error()`, `error(nil)`, `error(12)`, `error(1.5, 2)`, `assert(false)`, `assert(nil, "m")`, `assert(false, {3})`,
		`local x = nil x()`, `local t = {} t.a.b = 1`, `return #nil`, `return 1 + {}`, `return {} .. "x"`, `return 1 < "x"`, `string.rep()`, `("x"):rep({})`, `return 1 // 0`, `error(setmetatable({}, {__tostring = function() return "T" end}))`,
		`tostring(setmetatable({}, {__tostring = function() error("in tostring") end}))`, `table.sort({3, 2, 1}, function() error("in sort", 0) end)`, `string.gsub("x", "x", function() error({7}) end)`,
		`setmetatable({}, {__index = function(_, k) error("no " .. k) end}).field()`, `for i = 1, 10, 0 do end`, `local s = 0 for i = "x", 2, s do end`, `local s = 0 for i = 1, nil, s do end`, `local s for i = 1, 2, s do end`, `return 1, 2, 3`, `return`, `return nil, nil`)
	f := "function(...) " + raise + " end"
	switch g.IntN(6) {
	case 0:
		return "pcall(" + f + ", 1, 2)"
	case 1:
		return "xpcall(" + f + `, function(m) return type(m), m end, 1)`
	case 2:
		return "pcall(pcall, " + f + ")"
	case 3:
		return "local function f() local function g() " + raise + " end g() end return pcall(f)"
	case 4:
		return `local log = {} local ok, err = pcall(function() local a <close> = setmetatable({}, {__close = function(_, e) log[#log + 1] = "closed" log[#log + 1] = tostring(e ~= nil) end}) ` + raise + ` end) return ok, err, log`
	}
	return "select('#', pcall(" + f + "))"
}

// misuse calls a function with arguments of any type.
func (g *generator) misuse() string {
	f := oneOf(g, "string.sub", "string.byte", "string.find", "string.gsub", "string.format", "string.len", "string.pack", "string.unpack",
		"table.concat", "table.insert", "table.remove", "table.unpack", "table.sort", "math.floor", "math.max", "math.tointeger", "math.ult", "utf8.len", "utf8.codepoint",
		"select", "rawlen", "rawget", "rawequal", "setmetatable", "tonumber", "ipairs", "type", "assert", "pcall", "xpcall", "math.abs", "utf8.offset", "string.char")
	var values []string
	for range g.IntN(4) {
		values = append(values, oneOf(g, g.value(), g.int(), "{}", "nil", `"abc"`))
	}
	if g.IntN(8) == 0 { // big numbers would keep the reference busy for ever
		f, values = oneOf(g, "string.rep", "table.move"), nil
		for range g.IntN(5) {
			values = append(values, oneOf(g, g.int(), "{}", "nil", `"abc"`, "0.5", "{1, 2, 3}"))
		}
	}
	return fmt.Sprintf("%s(%s)", f, strings.Join(values, ", "))
}
