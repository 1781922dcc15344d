package stdlib

import "math/bits"

// Rand is a xoshiro256** generator, the one of Lua 5.4. The zero value is not
// usable; NewRand makes one.
type Rand struct{ s [4]uint64 }

// NewRand returns a generator seeded as math.randomseed(a, b) seeds it.
func NewRand(a, b uint64) *Rand {
	r := &Rand{}
	r.Seed(a, b)
	return r
}

// Seed sets the state from two integers and discards the first outputs, which
// still resemble the seed.
func (r *Rand) Seed(a, b uint64) {
	r.s = [4]uint64{a, 0xff, b, 0}
	for range 16 {
		r.Next()
	}
}

// Next returns 64 random bits.
func (r *Rand) Next() uint64 {
	s := &r.s
	out := bits.RotateLeft64(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return out
}

// Float returns a float in [0, 1) with 53 random bits.
func (r *Rand) Float() float64 { return float64(r.Next()>>11) * (1.0 / (1 << 53)) }

// Below returns a number in [0, n], n included, without bias. The number of
// tries follows Lua's, so that equal seeds give equal sequences.
func (r *Rand) Below(n uint64) uint64 {
	ran := r.Next()
	if n&(n+1) == 0 {
		return ran & n
	}
	mask := uint64(1)<<bits.Len64(n) - 1
	for ran &= mask; ran > n; ran = r.Next() & mask {
	}
	return ran
}
