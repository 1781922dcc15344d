package wire

import "sync"

// PerModel remembers what a server turned out to be like with each of its
// models: one behind a gateway does not take what another does. The zero value
// is empty.
type PerModel[T any] struct {
	mu     sync.RWMutex
	models map[string]T
}

// maxModels bounds the models that are remembered. What is forgotten is learned
// again.
const maxModels = 1000

// Get gives what is known of a model.
func (p *PerModel[T]) Get(model string) (known T, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	known, ok = p.models[model]
	return known, ok
}

// Has tells whether anything is known of a model.
func (p *PerModel[T]) Has(model string) bool {
	_, ok := p.Get(model)
	return ok
}

// Set remembers something of a model.
func (p *PerModel[T]) Set(model string, known T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.models == nil || len(p.models) >= maxModels {
		p.models = map[string]T{}
	}
	p.models[model] = known
}
