package luavm_test

import (
	"testing"

	"clm/luavm/luavmtest"
)

func TestCases(t *testing.T) { luavmtest.Run(t, "testdata/*.txt") }
