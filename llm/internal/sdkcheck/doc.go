// Package sdkcheck compares what clm sends with what the vendors' own Go SDKs
// send for the same conversation, in each dialect. It is a module of its own, so
// that the SDKs are no dependencies of clm.
package sdkcheck
