import type { Action, SidecarPatch } from '@osm-ts/driver-api'

import type { JsonObject } from '../json/json.js'
import { type ContainerValues, literal } from './values.js'

/** A sidecar that has no configuration after this long is started again. */
const STARTUP_PATIENCE_SECONDS = 600
/** Not ready after that many unanswered or negative questions in a row. */
const READINESS_FAILURES = 3
const READINESS_PERIOD_SECONDS = 10

/**
 * Probes of the sidecar by the driver's own `ready`.
 *
 * The startup probe is what holds the application back: containers after a native sidecar are started when it has succeeded. Classic sidecars are
 * started beside the application, which then gains nothing by it.
 */
export function sidecarProbes({ ready }: SidecarPatch, native: boolean): JsonObject {
  const { port, path } = ready.http
  const httpGet = { path, port, scheme: 'HTTP' }
  const startSeconds = Math.max(1, Math.ceil(ready.periodMs / 1000))
  const readinessProbe = { httpGet, periodSeconds: READINESS_PERIOD_SECONDS, failureThreshold: READINESS_FAILURES }
  if (!native) return { readinessProbe }
  return {
    startupProbe: {
      httpGet,
      periodSeconds: startSeconds,
      failureThreshold: Math.ceil(STARTUP_PATIENCE_SECONDS / startSeconds),
    },
    readinessProbe,
  }
}

/**
 * What is done before the sidecar is told to end.
 *
 * A native sidecar ends after the application: it has to finish what is on the way only, for the shorter of the driver's times. A classic one is
 * told to end together with the application, whose requests it has to carry until that is done: for the longer one.
 */
export function preStop({ drain }: SidecarPatch, native: boolean, values: ContainerValues): JsonObject | undefined {
  if (drain === undefined) return undefined
  const seconds = String(Math.ceil((native ? drain.minMs : drain.maxMs) / 1000))
  return { preStop: { exec: { command: command(drain.action, seconds, values) } } }
}

/**
 * The command line of an action that waits afterwards. What varies is passed as parameters of the script, never inside it.
 *
 * The administration interface listens on loopback, which only the container itself reaches; bash has sockets of its own, so that the image needs no
 * client.
 */
function command(action: Action, seconds: string, values: ContainerValues): readonly string[] {
  switch (action.kind) {
    case 'signal':
      return shell('kill -s "$1" 1 && sleep "$2"', [action.signal.slice('SIG'.length), seconds])
    case 'http':
      return shell(
        'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "%s %s HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n" "$2" "$3" >&3 && cat <&3 >/dev/null && sleep "$4"',
        [String(action.port), action.method, action.path, seconds],
      )
    case 'command': {
      const words = action.command.map((word) => values.text(word))
      return [...shell('seconds="$1"; shift; "$@" && sleep "$seconds"', [seconds]), ...words]
    }
  }
}

function shell(script: string, parameters: readonly string[]): readonly string[] {
  return ['/bin/bash', '-c', literal(script), 'drain', ...parameters.map(literal)]
}
