//go:build !unix

package stress

// processCPU is what Go knows of it.
func processCPU() float64 {
	_, total := gcCPU()
	return total
}

// maxRSS is not known here.
func maxRSS() int64 { return 0 }
