package syntax

import (
	"fmt"
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Lowering of expressions. Each rule names the fault in gopher-lua's compile.go,
// or the lack in its virtual machine, that it avoids.

const (
	flush      = 50 // FieldsPerFlush
	maxConcat  = 50 // operands that are arguments of Concat
	exact      = 1 << 53
	boxesName  = "\x00boxes"
	zeroName   = "\x00zero"
	noDotsName = "\x00dots"
)

// call makes a call of a helper, which gives one value.
func (p *parser) call(h Helper, line int, args ...ast.Expr) *ast.FuncCallExpr {
	if !p.needs[h] {
		p.needs[h] = true
		p.used = append(p.used, h)
	}
	return at(&ast.FuncCallExpr{Func: p.hidden(helperName(h), line), Args: args, AdjustRet: true}, line)
}

func helperName(h Helper) string { return "\x00" + h.String() }

// hidden makes the node for a local of the main function that programs cannot name.
func (p *parser) hidden(name string, line int) ast.Expr {
	main := p.fn
	for main.up != nil {
		main = main.up
	}
	p.upvalue(name, main)
	return ident(name, line)
}

// numberNode makes a literal. Integers that a float64 cannot hold are boxed.
func (p *parser) numberNode(n numeral, line int) ast.Expr {
	if !n.float && (n.i > exact || n.i < -exact) {
		return p.box(n.i, line)
	}
	e := number(n, line)
	p.constant(e.Value, true)
	return e
}

// box makes a boxed integer, which the prologue makes once.
func (p *parser) box(v int64, line int) ast.Expr {
	i, ok := p.index[v]
	if !ok {
		if i = len(p.ints); i >= MaxConstants {
			p.limit("constants", MaxConstants)
		}
		if p.index == nil {
			p.index = map[int64]int{}
		}
		p.index[v] = i
		p.ints = append(p.ints, v)
		p.needs[Int] = true
	}
	p.constant(strconv.Itoa(i+1), true)
	e := at(&ast.AttrGetExpr{Object: p.hidden(boxesName, line), Key: integer(i+1, line)}, line)
	if p.boxes == nil {
		p.boxes = map[ast.Expr]int64{}
	}
	p.boxes[e] = v
	return e
}

// not folds constants: as conditions and operands they make code that starts
// with a JMP, whose operand patchCode takes for a label's number.
func (p *parser) not(e ast.Expr, line int) ast.Expr {
	switch truth(e) {
	case 1:
		return at(&ast.FalseExpr{}, line)
	case 0:
		return at(&ast.TrueExpr{}, line)
	}
	return at(&ast.UnaryNotOpExpr{Expr: e}, line)
}

// minus folds literals. -0.0 is computed: the compiler merges it with the constant 0.
func (p *parser) minus(e ast.Expr, line int) ast.Expr {
	if v, ok := p.boxes[e]; ok {
		return p.box(-v, line)
	}
	n, ok := literal(e)
	switch {
	case !ok:
		return at(&ast.UnaryMinusOpExpr{Expr: e}, line)
	case n.float && n.f == 0:
		p.zero = true
		return at(&ast.UnaryMinusOpExpr{Expr: p.hidden(zeroName, line)}, line)
	case n.float:
		n.f = -n.f
	default:
		n.i = -n.i
	}
	return p.numberNode(n, line)
}

// operation makes a binary operation, except "..".
func (p *parser) operation(op kind, a, b ast.Expr, line int) ast.Expr {
	switch op {
	case tAnd, tOr:
		return p.logical(op, a, b, line)
	case tEq, tNe, '<', '>', tLe, tGe:
		return p.comparison(op, single(a), single(b), line)
	case '+', '-', '*', '/', '^':
		return p.arithmetic(string(rune(op)), a, b, line)
	case '%':
		return p.modulo(a, b, line)
	case tIDiv:
		if floatZero(b) {
			return p.arithmetic("/", a, b, line) // an infinity or NaN, not an error
		}
	}
	return p.call(operatorHelpers[op], line, single(a), single(b))
}

var operatorHelpers = map[kind]Helper{
	tIDiv: IDiv, '&': BAnd, '|': BOr, '~': BXor, tShl: Shl, tShr: Shr,
}

// logical folds a constant left operand, as in not.
func (p *parser) logical(op kind, a, b ast.Expr, line int) ast.Expr {
	name := "and"
	if op == tOr {
		name = "or"
	}
	if t := truth(a); t >= 0 {
		if (t == 1) == (op == tOr) {
			return a
		}
		return single(b)
	}
	return at(&ast.LogicalOpExpr{Operator: name, Lhs: a, Rhs: single(b)}, line)
}

func (p *parser) comparison(op kind, a, b ast.Expr, line int) ast.Expr {
	switch op {
	case tEq, tNe:
		if !p.equal || truth(a) >= 0 || truth(b) >= 0 || isNil(a) || isNil(b) {
			break
		}
		e := p.call(Eq, line, a, b)
		if op == tNe {
			return p.not(e, line)
		}
		return e
	default:
		if p.order && !(numeric(a) && numeric(b)) {
			return p.call(orderHelpers[op], line, a, b)
		}
	}
	return relation(relationTexts[op], a, b, line)
}

var orderHelpers = map[kind]Helper{'<': Lt, '>': Gt, tLe: Le, tGe: Ge}

var relationTexts = map[kind]string{'<': "<", '>': ">", tLe: "<=", tGe: ">=", tEq: "==", tNe: "~="}

func isNil(e ast.Expr) bool { return truth(e) == 0 }

// numeric reports whether e is sure to be an ordinary number, or a length.
func numeric(e ast.Expr) bool {
	switch e.(type) {
	case *ast.NumberExpr, *ast.UnaryLenOpExpr:
		return true
	}
	return false
}

// arithmetic folds literals. The compiler would too, but merges a zero that has
// a sign with the constant 0; integers have none.
func (p *parser) arithmetic(op string, a, b ast.Expr, line int) ast.Expr {
	x, ok := literal(a)
	y, ok2 := literal(b)
	if ok && ok2 {
		f := x.float || y.float || op == "/" || op == "^"
		if e := p.folded(fold(op, x.value(), y.value()), f, line); e != nil {
			return e
		}
	}
	return at(&ast.ArithmeticOpExpr{Operator: op, Lhs: a, Rhs: b}, line)
}

// floatZero reports whether e is the literal 0.0 or -0.0.
func floatZero(e ast.Expr) bool {
	if m, ok := e.(*ast.UnaryMinusOpExpr); ok {
		v, ok := m.Expr.(*ast.IdentExpr)
		return ok && v.Value == zeroName
	}
	n, ok := literal(e)
	return ok && n.float && n.f == 0
}

func fold(op string, x, y float64) float64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "^":
		return math.Pow(x, y)
	}
	v := math.Mod(x, y)
	if y > 0 && v < 0 || y < 0 && v > 0 {
		v += y
	}
	return v
}

// folded makes a literal of a result; nil if it has to be computed.
func (p *parser) folded(v float64, float bool, line int) ast.Expr {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0) || !float && math.Abs(v) > exact:
		return nil
	case !float:
		return p.numberNode(numeral{i: int64(v)}, line)
	case v == 0 && math.Signbit(v):
		return p.minus(p.numberNode(numeral{float: true}, line), line)
	}
	return p.numberNode(numeral{float: true, f: v}, line)
}

// modulo uses the instruction where the right operand cannot be the integer 0,
// which is an error.
func (p *parser) modulo(a, b ast.Expr, line int) ast.Expr {
	op := &ast.ArithmeticOpExpr{Operator: "%", Lhs: a, Rhs: b}
	op.SetLine(line)
	if floatZero(b) {
		return op
	}
	if n, ok := literal(b); ok {
		if n.i == 0 && !n.float {
			return p.call(Mod, line, single(a), b)
		}
		if x, ok := literal(a); ok {
			if e := p.folded(fold("%", x.value(), n.value()), x.float || n.float, line); e != nil {
				return e
			}
		}
		return op
	}
	if p.plain(a) && p.plain(b) {
		// names may be read twice: a zero is rare, and a call is dear
		zero := relation("==", b, integer(0, line), line)
		fault := p.call(Mod, line, a, b)
		return p.logical(tOr, p.logical(tAnd, zero, fault, line), op, line)
	}
	return p.call(Mod, line, single(a), single(b))
}

// plain reports whether e is a local variable, or one of a function around this
// one, or a number.
func (p *parser) plain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.NumberExpr:
		return true
	case *ast.IdentExpr:
		v, _ := p.find(e.Value)
		return v != nil
	}
	return false
}

// concat parses the operands after the first of a chain of ".." and makes calls
// of Concat: gopher-lua's instruction writes fractions with 17 digits.
func (p *parser) concat(first ast.Expr, terms int) ast.Expr {
	line := p.tok.line
	operands := []ast.Expr{single(first)}
	for p.tok.kind == tConcat {
		line = p.tok.line
		p.next()
		operands = append(operands, single(p.subexpr(9)))
		if terms++; terms > MaxTerms {
			p.tooLong()
		}
	}
	p.deeper()
	if len(operands) <= maxConcat {
		return p.call(Concat, line, operands...)
	}
	// too many for registers: by way of a table as Spread takes it
	fields := []*ast.Field{{Value: integer(len(operands), line)}}
	for _, o := range operands {
		fields = append(fields, &ast.Field{Value: o})
	}
	spread := p.call(Spread, line, at(&ast.TableExpr{Fields: fields}, line))
	spread.AdjustRet = false
	return p.call(Concat, line, spread)
}

// constructor makes a table. It avoids three faults of compileTableExpr: a call
// in a last, keyed field counts as the tail of the list; a keyed field after a
// multiple of 50 list items stores the last 50 again; a tail after a multiple of
// 50 goes to 1, 2, …. Beyond MaxItems, SETLIST loses an operand.
func (p *parser) constructor(fields []*ast.Field, line int) ast.Expr {
	e := at(&ast.TableExpr{Fields: fields}, line)
	items, keyedAfter := 0, false
	for i, f := range fields {
		if f.Key != nil {
			single(f.Key)
			single(f.Value)
			keyedAfter = keyedAfter || items > 0 && items%flush == 0
			continue
		}
		if i < len(fields)-1 || !multi(f.Value) {
			single(f.Value)
			items++
			continue
		}
		if items == 0 || items%flush != 0 && !keyedAfter {
			return e
		}
		e.Fields = fields[:i]
		p.spread(e, items, keyedAfter)
		return p.call(Append, line, e, integer(items, line), f.Value)
	}
	p.spread(e, items, keyedAfter)
	return e
}

// spread gives list items from the 50th on explicit keys, where needed.
func (p *parser) spread(e *ast.TableExpr, items int, keyedAfter bool) {
	if items > MaxItems {
		p.fail(fmt.Sprintf("table constructor is too long (limit is %d items)", MaxItems))
	}
	if !keyedAfter {
		return
	}
	n := 0
	for _, f := range e.Fields {
		if f.Key != nil {
			continue
		}
		if n++; n >= flush {
			k := integer(n, f.Value.Line())
			p.constant(strconv.Itoa(n), true)
			f.Key = k
		}
	}
}
