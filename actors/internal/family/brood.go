package family

import "slices"

// brood is a node's children. Most have few, for which a map would be heavy;
// the root may have a million.
type brood struct {
	few  []*Node
	many map[string]*Node // by address; nil while there are few
}

const maxFew = 12

func (b *brood) add(n *Node) {
	switch {
	case b.many != nil:
		b.many[n.pid.Id] = n
	case len(b.few) < maxFew:
		b.few = append(b.few, n)
	default:
		b.many = make(map[string]*Node, 2*maxFew)
		for _, k := range append(b.few, n) {
			b.many[k.pid.Id] = k
		}
		b.few = nil
	}
}

// remove forgets a child and returns it, nil if there is none of that address.
func (b *brood) remove(id string) *Node {
	if b.many != nil {
		n := b.many[id]
		delete(b.many, id)
		return n
	}
	i := slices.IndexFunc(b.few, func(n *Node) bool { return n.pid.Id == id })
	if i < 0 {
		return nil
	}
	n := b.few[i]
	b.few = slices.Delete(b.few, i, i+1)
	return n
}

// list is the children in no order.
func (b *brood) list() []*Node {
	if b.many == nil {
		return slices.Clone(b.few)
	}
	out := make([]*Node, 0, len(b.many))
	for _, n := range b.many {
		out = append(out, n)
	}
	return out
}
