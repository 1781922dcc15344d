package gen

import "fmt"

// Calls of the library.

func (x *program) pattern() string {
	return fmt.Sprintf("%q", x.pick("a", "%a", "%a+", "(%a)(%d*)", ".-,", "^%s*(.-)%s*$", "[^,]*", "(%w+)=(%w+)", "%b()", "%f[%w]%w+", "[a-c]+", "o", "^a", "x$", "()", "%d+", ".", "b?", "(a*(.)%w(%s*))", "[%]]"))
}

func numberCalls() []production {
	return []production{
		{1, func(x *program, d int) string { return "math.floor(" + x.num(d) + " / 2)" }},
		{1, func(x *program, d int) string { return "math.tointeger(math.ceil(" + x.num(d) + " / 3))" }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("math.%s(%s, %s)", x.pick("max", "min"), x.num(d), x.num(d))
		}},
		{1, func(x *program, d int) string { return "math.abs(" + x.num(d) + ")" }},
		{1, func(x *program, d int) string { return fmt.Sprintf("math.fmod(%s, %d)", x.num(d), x.r.IntN(5)+1) }},
		{1, func(x *program, d int) string { return fmt.Sprintf("(tonumber(%q) + %s)", x.small(), x.num(d)) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("(tonumber(%s, %s) or %s)", x.str(d), x.pick("10", "16", "36", "2"), x.num(d))
		}},
		{1, func(x *program, d int) string { return "(tonumber(" + x.str(d) + ") or 0) // 1 % 97" }},
		{1, func(x *program, d int) string { return fmt.Sprintf("N((%s):byte(%s))", x.text(), x.small()) }},
		{1, func(x *program, d int) string { return fmt.Sprintf("N((%s:find(%s)))", x.str(d), x.pattern()) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("N(select(2, %s:gsub(%s, '')))", x.str(d), x.pattern())
		}},
		{1, func(x *program, d int) string { return "N(utf8.len(" + x.str(d) + "))" }},
		{1, func(x *program, d int) string { return fmt.Sprintf("('10' + %s)", x.num(d)) }},
		{1, func(x *program, d int) string { return "rawlen(" + x.table(d, false) + ") * 0" }},
	}
}

func stringCalls() []production {
	return []production{
		{1, func(x *program, d int) string {
			return fmt.Sprintf("%s:sub(%s, %s)", x.str(d), x.small(), x.small())
		}},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("string.rep(%s, %d%s)", x.str(d), x.r.IntN(3), x.pick("", ", '-'"))
		}},
		{2, func(x *program, d int) string {
			return fmt.Sprintf("string.format(%s, %s, %s)", x.pick(`"%d=%s"`, `"%5d|%-4s|"`, `"%03d%s"`, `"%x%q"`, `"%+d%.2s"`, `"%.1f %s"`, `"%g%%%s"`, `"%c%s" and "%i%s"`, `"%5.1f%3s"`, `"%e%s"`), x.num(d), x.str(d))
		}},
		{1, func(x *program, d int) string {
			return "(" + x.str(d) + ")" + x.pick(":upper()", ":lower()", ":reverse()")
		}},
		{1, func(x *program, d int) string { return x.with(seq, "table.concat($, '"+x.pick("", "-")+"'):sub(1, 9)") }},
		{1, func(x *program, d int) string { return "string.char(97 + " + x.num(d) + " % 5)" }},
		{1, func(x *program, d int) string { return "utf8.char(" + x.num(d) + " % 3000, 233)" }},
		{2, func(x *program, d int) string { return fmt.Sprintf("S(%s:match(%s))", x.str(d), x.pattern()) }},
		{2, func(x *program, d int) string {
			return fmt.Sprintf("S((select(2, pcall(string.gsub, %s, %s, %s%s))))", x.str(d), x.pick(x.pattern(), x.pattern(), `"%1"`, `"(%a)%1"`), x.pick(`"<%0>"`, `"%1"`, `"%%"`, `{a = "A", b = false, ["10"] = 1}`, "function(p, q) return q or p end", "string.upper", "function() end", `""`), x.pick("", ", 1", ", 2"))
		}},
		{1, func(x *program, d int) string { return "tostring(" + x.any(d) + " == nil)" }},
		{1, func(x *program, d int) string { return x.with(obj, "tostring($)") }},
		{1, func(x *program, d int) string { return "type(" + x.any(d) + ")" }},
		{1, func(x *program, d int) string { return "S(math.type(" + x.pick(x.bigInt(d), x.str(d)) + "))" }},
		{1, func(x *program, d int) string { return "string.format('%q', " + x.str(d) + ")" }},
		{1, func(x *program, d int) string { return "tostring(" + x.bigInt(d) + ")" }},
		{1, func(x *program, d int) string { return "string.format('%d', " + x.bigInt(d) + ")" }},
		{1, func(x *program, d int) string { return "(" + x.bigInt(d) + " .. '')" }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("S(string.unpack('<i%d', string.pack('<i%[1]d', %s %% 100)))", 1<<x.r.IntN(4), x.num(d))
		}},
	}
}

func anyCalls() []production {
	return []production{
		{1, func(x *program, d int) string {
			return "(" + x.str(d) + "):find(" + x.pattern() + x.pick("", ", 2", ", 1, true") + ")"
		}},
		{1, func(x *program, d int) string {
			return "(" + x.str(d) + "):match(" + x.pattern() + x.pick("", ", 2", ", -2") + ")"
		}},
		{1, func(x *program, d int) string { return "rawequal(" + x.any(d) + ", " + x.any(d) + ")" }},
		{1, func(x *program, d int) string { return x.with(obj, "rawget($, "+x.pick("'n'", "'m'", "'zz'")+")") }},
		{1, func(x *program, d int) string { return "next({" + x.num(d) + "})" }},
		{1, func(x *program, d int) string {
			return "select(" + x.pick("1", "2", "-1", "'#'") + ", " + x.args(d) + ")"
		}},
		{1, func(x *program, d int) string {
			return "math.ult(" + x.bigInt(d) + ", " + x.pick(x.num(d), x.bigInt(d)) + ")"
		}},
		{1, func(x *program, d int) string {
			return "({[" + x.bigInt(d) + "] = " + x.any(d) + "})[" + x.bigInt(d) + "]"
		}},
		{1, func(x *program, d int) string { return "table.pack(" + x.args(d) + ").n" }},
		{1, func(x *program, d int) string { return "utf8.codepoint(" + x.str(d) + " .. 'z', 1)" }},
		{1, func(x *program, d int) string { return "(" + x.str(d) + "):byte(1, " + x.small() + ")" }},
		{1, func(x *program, d int) string { return "getmetatable(" + x.any(d) + ") == MT" }},
		{1, func(x *program, d int) string { return "tonumber(" + x.str(d) + x.pick("", ", 16") + ")" }},
		{1, func(x *program, d int) string { return x.with(seq, "table.unpack($, "+x.small()+", 3)") }},
		{1, func(x *program, d int) string { return x.with(seq, "#PX($)") }},
		{1, func(x *program, d int) string { return x.with(seq, "PX($)["+x.num(d)+"]") }},
	}
}
