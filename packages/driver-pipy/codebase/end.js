// The end of the sidecar, when nothing is under way any more.
//
// Pipy takes no notice of SIGTERM, ends what waits for a promise with SIGINT, and may hang where it ends by itself. So it is ended by force, by its init wrapper in a
// container (see init-wrapper.ts of the driver) or else by itself: once no request and no connection of the workload is left that could notice.

import { state } from './state.js'

var SIGKILL = 9
var SIGUSR1 = 10
// As the init wrapper has it: open from when it was told to end.
var MARK = '/fdinfo/9'

var LOOK_SECONDS = 0.5
// Time for endpoints to disappear from their callers, where nothing has waited for that before.
var LEAVE_SECONDS = 5

/** Ends the sidecar as soon as nothing is under way; once, however often that is requested. */
export function endWhenIdle() {
  if (state.isEnding) return
  state.isEnding = true
  state.isDraining = true
  // Not at once: anyone who has requested it gets an answer.
  after(LOOK_SECONDS, lookForEnd)
}

/** Waits until the init wrapper, if there is one, has been told to end. */
export function watchKeeper() {
  if (!os.env.OSM_PIPY_INIT_WRAPPER || state.isEnding) return
  if (os.stat('/proc/' + os.env.OSM_PIPY_INIT_WRAPPER + MARK)) {
    // Callers that ask are told to go elsewhere; what comes all the same is served.
    state.isDraining = true
    after(LEAVE_SECONDS, endWhenIdle)
  } else {
    after(LOOK_SECONDS, watchKeeper)
  }
}

function lookForEnd() {
  if (state.underWay === 0) end()
  after(LOOK_SECONDS, lookForEnd)
}

function end() {
  var wrapper = os.env.OSM_PIPY_INIT_WRAPPER
  if (wrapper) os.kill(+wrapper, SIGUSR1)
  else os.kill(pipy.pid, SIGKILL)
}

function after(seconds, whenUp) {
  new Timeout(seconds).wait().then(whenUp)
}
