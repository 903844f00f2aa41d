//go:build !unix

package query_test

import "testing"

// perCPU reports nothing: the system does not tell of CPU time.
func perCPU(*testing.B) func() { return func() {} }
