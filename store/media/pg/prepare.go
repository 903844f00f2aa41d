package pg

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// known are the statements that a connection of an [Own] ran. The server keeps those that it ran twice, parsed
// and planned, under a name: the rows of an import and the turns of a session are the same few statements.
//
// Behind a pooler a transaction may run in another process of the server than the one before, which does not have them.
// So nothing is kept unless the process is the one that the connection began with: a pooler names its own.
type known struct {
	looked, same bool
	statements   map[string]*statement
	last         int
}

// statement is a text as the server takes it, and the name under which the server keeps it, "" if it does not.
type statement struct{ text, name string }

const (
	// askProcess is the query that a connection's first transaction begins with.
	askProcess = "SELECT pg_backend_pid()"
	// mostKept bounds how many statements a connection knows.
	mostKept = 256
)

// kept are the first words of the statements that PREPARE takes.
var kept = map[string]bool{"SELECT": true, "INSERT": true, "UPDATE": true, "DELETE": true, "WITH": true}

// findStatement returns a query as the server takes it. It adds to making the statements that the server is to keep
// from now on, and prepares them in a batch, before what is run in it.
func (k *known) findStatement(batch *pgconn.Batch, making map[*statement]string, query string) *statement {
	s, again := k.statements[query]
	if !again {
		s = &statement{text: numberPlaceholders(query)}
		if len(k.statements) < mostKept {
			k.statements[query] = s
		}
		return s
	}
	word, _, _ := strings.Cut(s.text, " ")
	if s.name == "" && making[s] == "" && k.same && kept[word] {
		k.last++
		making[s] = "hindcast_" + strconv.Itoa(k.last)
		batch.ExecParams("PREPARE "+making[s]+" AS "+s.text, nil, nil, nil, nil)
	}
	return s
}
