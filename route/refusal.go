package route

import "slices"

// Refusal returns the error number and SQLSTATE that go with a decision to Refuse, or to give up on a server that
// could not be named. Where the text is one that clients know, so is the number.
func (d *Decision) Refusal() (code uint16, state string) {
	if d.Error == TimeoutText {
		return 1205, "HY000"
	}
	for _, r := range d.Reasons() {
		switch r {
		case EndpointReadOnly, NoPrimary, TwoPrimaries:
			return 1290, "HY000"
		case SettingMalformed:
			return 1231, "42000"
		case AsksProxy:
			return 1064, "42000"
		case NothingCaughtUp, WaitForReplica:
			return 1205, "HY000"
		}
	}
	return 1105, "HY000"
}

// LacksPrimary tells whether the decision would be another one with a primary, which may come yet.
func (d *Decision) LacksPrimary() bool {
	return slices.Contains(d.Reasons(), NoPrimary) || slices.Contains(d.Reasons(), TwoPrimaries)
}

// FellBack returns why a read runs on the primary though a replica was to have it; NoReason if none was wanted.
func (d *Decision) FellBack() Reason {
	for _, r := range d.Reasons() {
		switch r {
		case NothingCaughtUp, NoReplica, PositionUnknown:
			return r
		}
	}
	return NoReason
}
