// Package mcp lets agents ask about sessions over the Model Context Protocol.
//
// Each tool is a row of a table: the command of Hindcast that answers it, and the arguments that it takes. A call
// becomes that command's line, and its document of --json the answer:
//
//	call ─▶ words of a command ─▶ Run ─▶ secrets hidden ─▶ cut to a page ─▶ answer
//
// No tool writes: those of the table that plan a write give --dry-run, and no argument of a call is a flag, or names a
// store that the user's home does not list.
package mcp
