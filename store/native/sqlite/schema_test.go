package sqlite

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

// A store is opened only where its schema is word for word that of its version, comments
// included: to change one takes another version.
func TestSchema_staysAsItIs(t *testing.T) {
	const was = "24cb2a129d8e36f4b07579bd8c31c3fa3dd4a12eb6bae28028800b6fd40d1724"
	if now := fmt.Sprintf("%x", sha256.Sum256([]byte(schemaSQL))); now != was {
		t.Errorf("the schema was %s and is %s", was, now)
	}
}
