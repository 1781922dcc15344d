package syntax

import (
	"math"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// Makers of nodes of gopher-lua's syntax tree, and questions about them.

func at[T ast.Expr](e T, line int) T {
	e.SetLine(line)
	return e
}

func ident(name string, line int) *ast.IdentExpr { return at(&ast.IdentExpr{Value: name}, line) }

// number makes a literal; a float's text has a point, an exponent or a letter.
func number(n numeral, line int) *ast.NumberExpr {
	if !n.float {
		return at(&ast.NumberExpr{Value: strconv.FormatInt(n.i, 10)}, line)
	}
	s := strconv.FormatFloat(n.f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".eIN") {
		s += "e0"
	}
	return at(&ast.NumberExpr{Value: s}, line)
}

func integer(v int, line int) *ast.NumberExpr { return number(numeral{i: int64(v)}, line) }

// literal returns the value of a number.
func literal(e ast.Expr) (numeral, bool) {
	n, ok := e.(*ast.NumberExpr)
	if !ok {
		return numeral{}, false
	}
	if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
		return numeral{i: v}, true
	}
	v, _ := strconv.ParseFloat(n.Value, 64)
	return numeral{float: true, f: v}, true
}

// block_ makes "do … end".
func block_(line int, stmts ...ast.Stmt) *ast.DoBlockStmt {
	d := &ast.DoBlockStmt{Stmts: stmts}
	d.SetLine(line)
	d.SetLastLine(line)
	return d
}

func localTo(line int, names []string, e ...ast.Expr) *ast.LocalAssignStmt {
	s := &ast.LocalAssignStmt{Names: names, Exprs: e}
	s.SetLine(line)
	return s
}

func set(line int, target, value ast.Expr) *ast.AssignStmt {
	s := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{value}}
	s.SetLine(line)
	return s
}

func labelAt(id string, line int) *ast.LabelStmt {
	l := &ast.LabelStmt{Name: id}
	l.SetLine(line)
	return l
}

func returns(line int, e ...ast.Expr) *ast.ReturnStmt {
	r := &ast.ReturnStmt{Exprs: e}
	r.SetLine(line)
	return r
}

func ifThen(line int, cond ast.Expr, then ...ast.Stmt) *ast.IfStmt {
	s := &ast.IfStmt{Condition: cond, Then: then}
	s.SetLine(line)
	s.SetLastLine(line)
	return s
}

func relation(op string, a, b ast.Expr, line int) *ast.RelationalOpExpr {
	return at(&ast.RelationalOpExpr{Operator: op, Lhs: a, Rhs: b}, line)
}

// truth: 1 constant and true, 0 constant and false, -1 not constant.
func truth(e ast.Expr) int {
	switch e.(type) {
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return 1
	case *ast.FalseExpr, *ast.NilExpr:
		return 0
	}
	return -1
}

// multi reports whether e may give any number of values.
func multi(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		return !e.AdjustRet
	case *ast.Comma3Expr:
		return !e.AdjustRet
	}
	return false
}

// single cuts e to one value.
func single(e ast.Expr) ast.Expr { return adjust(e, true) }

func adjust(e ast.Expr, one bool) ast.Expr {
	switch e := e.(type) {
	case *ast.FuncCallExpr:
		e.AdjustRet = one
	case *ast.Comma3Expr:
		e.AdjustRet = one
	}
	return e
}

func integral(v float64) bool { return v == math.Trunc(v) }
