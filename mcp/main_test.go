package mcp

import (
	"os"
	"testing"

	"hindcast/store/storetest/program"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }
