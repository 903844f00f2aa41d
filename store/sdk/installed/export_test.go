package installed

// Versions returns what each reader of a file finds in a text, by the pattern of its file.
func Versions(text []byte, pkg string) map[string]string {
	found := map[string]string{}
	for _, s := range sources {
		if s.version != nil {
			found[s.pattern] = s.version(text, pkg)
		}
	}
	return found
}
