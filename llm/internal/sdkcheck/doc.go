// Package sdkcheck compares what clm sends with what a vendor's own Go SDK
// sends for the same conversation. It is a module of its own, so that the SDK
// is no dependency of clm.
package sdkcheck
