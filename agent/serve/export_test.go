package serve

// SetEpoch sets what is in cursors, so that they can be compared.
func (h *Handler) SetEpoch(epoch int64) { h.epoch = epoch }
