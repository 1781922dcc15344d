package number

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

func TestFromInt(t *testing.T) {
	for i, want := range map[int64]lua.LValue{
		0: lua.LNumber(0), 1 << 53: lua.LNumber(1 << 53), -1 << 53: lua.LNumber(-1 << 53),
		1<<53 + 1: Int(1<<53 + 1), -1<<53 - 1: Int(-1<<53 - 1), math.MaxInt64: Int(math.MaxInt64), math.MinInt64: Int(math.MinInt64),
	} {
		if got := FromInt(i); got != want {
			t.Errorf("FromInt(%d) is %T %v", i, got, got)
		}
		if got, ok := ToInt(FromInt(i)); !ok || got != i {
			t.Errorf("ToInt(FromInt(%d)) is %d, %v", i, got, ok)
		}
	}
}

func TestParse(t *testing.T) {
	nan := "no number"
	for text, want := range map[string]string{
		"12": "12", " -0x10 ": "-16", "9007199254740993": "9007199254740993", "9223372036854775808": "9.2233720368548e+18",
		"-9223372036854775808": "-9223372036854775808", "0xffffffffffffffffff": "-1", "0x.8p1": "1", "1e999": "inf", "-1e999": "-inf",
		"": nan, "0x": nan, "1_0": nan, "0x_1": nan, "inf": nan, "nan": nan, "+-1": nan, "1e": nan, "0x1p": nan, "1e+": nan, "0x1p-": nan, "1\x00": nan, ".": nan, "0b1": nan, "1p4": nan,
	} {
		got := nan
		if v, ok := Parse(text); ok {
			got, _ = ToString(v)
		}
		if got != want {
			t.Errorf("Parse(%q) is %s, want %s", text, got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	zero := 0.0
	for _, c := range []struct {
		f    float64
		want string
	}{
		{3, "3"},
		{1 << 53, "9007199254740992"},
		{1<<53 + 2, "9.007199254741e+15"},
		{0.1, "0.1"},
		{18988049080848.125, "18988049080848.0"},
		{1e100, "1e+100"},
		{1.0 / 3, "0.33333333333333"},
		{math.Inf(1), "inf"},
		{math.NaN(), "-nan"},
		{-math.NaN(), "nan"},
		{math.Sqrt(-1), "-nan"},
		{zero, "0"},
		{-zero, "0"},
	} {
		if got := Format(lua.LNumber(c.f)); got != c.want {
			t.Errorf("Format(%v) is %s, want %s", c.f, got, c.want)
		}
	}
}

// TestArithAgainstBig compares int64 arithmetic with that of big integers.
func TestArithAgainstBig(t *testing.T) {
	edges := []int64{math.MinInt64, math.MinInt64 + 1, -1<<53 - 1, -3, -1, 1, 2, 7, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	r := rand.New(rand.NewPCG(1, 2))
	pick := func() int64 {
		if r.IntN(3) == 0 {
			return edges[r.IntN(len(edges))]
		}
		return int64(r.Uint64()) >> r.IntN(64)
	}
	for range 20000 {
		x, y := pick(), pick()
		a, b := FromInt(x), FromInt(y)
		_, boxed1 := a.(Int)
		_, boxed2 := b.(Int)
		if !boxed1 && !boxed2 {
			continue // float arithmetic
		}
		for op, f := range map[Op]func(z, x, y *big.Int){
			Add: func(z, x, y *big.Int) { z.Add(x, y) },
			Sub: func(z, x, y *big.Int) { z.Sub(x, y) },
			Mul: func(z, x, y *big.Int) { z.Mul(x, y) },
			IDiv: func(z, x, y *big.Int) {
				m := new(big.Int)
				z.DivMod(x, y, m) // Euclidean: the rest is never negative
				if y.Sign() < 0 && m.Sign() != 0 {
					z.Sub(z, big.NewInt(1))
				}
			},
		} {
			if op == IDiv && y == 0 {
				continue
			}
			z := new(big.Int)
			f(z, big.NewInt(x), big.NewInt(y))
			want := new(big.Int).And(z, new(big.Int).SetUint64(math.MaxUint64)).Uint64() // wraps around
			got, err := Arith(op, a, b)
			i, ok := ToInt(got)
			if err != nil || !ok || uint64(i) != want {
				t.Fatalf("%d %s %d is %v, %v; want %d", x, op.Event(), y, got, err, int64(want))
			}
		}
	}
}

func TestModuloIdentity(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		x, y := int64(r.Uint64())>>r.IntN(64), int64(r.Uint64())>>r.IntN(64)
		if y == 0 {
			continue
		}
		q, _ := Arith(IDiv, FromInt(x), FromInt(y))
		m, _ := Arith(Mod, FromInt(x), FromInt(y))
		i, _ := ToInt(q)
		j, _ := ToInt(m)
		if i*y+j != x || j != 0 && (j < 0) != (y < 0) {
			t.Fatalf("%d // %d is %d, %% is %d", x, y, i, j)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		op   Op
		a, b lua.LValue
		want error
	}{
		{IDiv, lua.LNumber(1), lua.LNumber(0), ErrDivide},
		{Mod, lua.LNumber(1), lua.LNumber(0), ErrModulo},
		{IDiv, Int(math.MaxInt64), lua.LNumber(0), ErrDivide},
		{IDiv, lua.LNumber(1.5), lua.LNumber(0), nil},
		{BAnd, lua.LNumber(1.5), lua.LNumber(1), ErrNoInteger},
		{BOr, lua.LNumber(1 << 62), lua.LNumber(1), nil},
		{BOr, lua.LNumber(1 << 63), lua.LNumber(1), ErrNoInteger},
		{BNot, lua.LNumber(math.NaN()), lua.LNumber(0), ErrNoInteger},
	} {
		if _, err := Arith(c.op, c.a, c.b); err != c.want {
			t.Errorf("%v %s %v: %v, want %v", c.a, c.op.Event(), c.b, err, c.want)
		}
	}
}

func TestCompare(t *testing.T) {
	big := int64(1<<53 + 1)
	for _, c := range []struct {
		a, b lua.LValue
		want int
	}{
		{lua.LNumber(1), lua.LNumber(2), -1},
		{Int(big), lua.LNumber(1 << 53), 1},
		{Int(big), lua.LNumber(1<<53 + 2), -1},
		{lua.LNumber(1 << 53), Int(big), -1},
		{Int(1 << 60), lua.LNumber(1 << 60), 0},
		{Int(math.MaxInt64), lua.LNumber(1 << 63), -1},
		{Int(math.MinInt64), lua.LNumber(-1 << 63), 0},
		{Int(math.MinInt64), lua.LNumber(math.Inf(-1)), 1},
		{Int(big), Int(big + 1), -1},
		{lua.LNumber(0.5), Int(big), -1},
	} {
		if got, ok := Compare(c.a, c.b); !ok || got != c.want {
			t.Errorf("Compare(%v, %v) is %d, %v", c.a, c.b, got, ok)
		}
	}
	for _, v := range []lua.LValue{lua.LNumber(1), Int(big)} {
		if _, ok := Compare(v, lua.LNumber(math.NaN())); ok {
			t.Error("NaN compares with", v)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"12", "-0x1p4", " 1e5 ", "0x.8", "9223372036854775808", "1_0", "inf"} {
		f.Add(s, 16)
	}
	f.Fuzz(func(t *testing.T, s string, base int) {
		if v, ok := Parse(s); ok {
			text, _ := ToString(v)
			if again, ok := Parse(text); ok != (text != "inf" && text != "-inf") {
				t.Errorf("%q reads as %s, which reads as %v", s, text, again)
			}
		}
		if base >= 2 && base <= 36 {
			if v, ok := ParseBase(s, base); ok {
				if _, ok := ToInt(v); !ok {
					t.Errorf("%q in base %d is %v", s, base, v)
				}
			}
		}
	})
}

// Long numerals are shortened before they are converted: to the same float.
func TestLongNumerals(t *testing.T) {
	zeros, ones := strings.Repeat("0", 5000), strings.Repeat("1", 5000)
	halfway := "9007199254740993" // between two floats: the even one below, without more digits
	for _, s := range []string{
		ones, "." + ones, "1." + ones, zeros + "1.5", zeros + "." + zeros, zeros + "." + zeros + "12e5003",
		halfway + "." + zeros, halfway + "." + zeros + "1", "1" + zeros + "e-5000", ones + "e-4990", "0." + zeros + "25e+5001",
		ones[:900] + zeros + ".1e-5900", ones[:900] + "e-890", ones[:760] + "e-750", "1e" + zeros + "5", "1e-" + zeros + "5",
		zeros + "." + ones + "e-7",
	} {
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		want, _ := exact.Float64()
		if got, ok := Parse(s); !ok || float64(got.(lua.LNumber)) != want {
			t.Errorf("Parse(%s… %d bytes) = %v, %v, want %v", s[:8], len(s), got, ok, want)
		}
	}
	for _, s := range []string{ones + ".5.5", ones + "e", ones + "e+-1", "." + ones + "e1e1", "." + ones + "e1.5", "0x" + ones + ".5p", "0x." + ones + "p1p1"} {
		if got, ok := Parse(s); ok {
			t.Errorf("Parse(%s… %d bytes) = %v", s[:8], len(s), got)
		}
	}
	for s, want := range map[string]float64{
		ones + "e99999999999999999999": math.Inf(1), ones + "e-99999999999999999999": 0,
		"0x." + zeros + "8p20000": 0.5, "0x1" + zeros + ".0p-20000": 1, "0x1" + zeros + ".": math.Inf(1), "0x." + zeros + "1": 0,
		"0x20000000000001.0" + zeros: 9007199254740993, "0x20000000000001.8" + zeros: 9007199254740994,
		"0x20000000000003.0" + zeros: 9007199254740996, "0x20000000000001.0" + zeros + "1": 9007199254740994,
	} {
		if got, ok := Parse(s); !ok || float64(got.(lua.LNumber)) != want {
			t.Errorf("Parse(%s… %d bytes) = %v, %v, want %v", s[:8], len(s), got, ok, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Parse(ones) }); n > 15 {
		t.Errorf("%v allocations", n)
	}
}
