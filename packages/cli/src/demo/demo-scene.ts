/** What should become of the calls that one client makes on one path. */
export interface FlowExpectation {
  /** Name of the workload that calls. */
  readonly client: string
  readonly target: string
  readonly path: string
  /** `allowed`: answered 200. `denied`: the sidecar of the called side answers 403. `unreachable`: no way leads there, so no server ever answers. */
  readonly outcome: 'allowed' | 'denied' | 'unreachable'
}

/** Requests that a demo adds to those of a workload, by the workload's own sidecar, so that a split differs clearly from chance. */
export interface SplitProbe {
  readonly workload: string
  /** Name under which they are reported. */
  readonly client: string
  readonly host: string
  readonly path: string
  /** Name of the service in reports. */
  readonly target: string
  readonly requests: number
}

/** What a demo expects of its mesh. */
export interface DemoScene {
  readonly flows: readonly FlowExpectation[]
  readonly probe: SplitProbe
}

/** The requests of the demo itself have to succeed too. */
export function probeFlow({ client, target, path }: SplitProbe): FlowExpectation {
  return { client, target, path, outcome: 'allowed' }
}
