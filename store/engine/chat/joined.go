package chat

// joined is a text that is put together.
type joined struct {
	data []byte
	// messages is how many of them the text has.
	messages int
}

// addText appends texts.
func (j *joined) addText(list ...string) {
	for _, text := range list {
		j.data = append(j.data, text...)
	}
}

// addBytes appends bytes.
func (j *joined) addBytes(data []byte) { j.data = append(j.data, data...) }
