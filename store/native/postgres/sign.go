package postgres

// Sign recognises the store by the table of its versions, which [Migrate] makes first. has maps the tables of a
// database to their columns.
func Sign(has map[string]map[string]bool) (why string, ok bool) {
	if !has["hindcast.migrations"]["version"] {
		return "it has no table hindcast.migrations", false
	}
	return "it has the tables of the schema hindcast", true
}
