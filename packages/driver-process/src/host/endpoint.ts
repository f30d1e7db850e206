/** Where a driver is served for as long as one process of it lives. */
export interface DriverEndpoint {
  /** Socket that the driver serves on. */
  readonly socket: string
  /** Where the host may put sockets of its own, which the driver reaches under the same path. */
  readonly folder: string
  /** Resolves when the process has ended, with why. Never resolves where the process is somebody else's. */
  readonly ended: Promise<Error>
  /** Ends the process, if it is ours, and removes what was made for it. */
  close(): Promise<void>
}

/** Makes a driver available: starts its process, or names the socket of one that somebody else runs. */
export type OpenEndpoint = (signal: AbortSignal) => Promise<DriverEndpoint>

/** A driver that somebody else serves on a socket, such as a container beside ours. */
export function socketEndpoint(socket: string, folder: string): OpenEndpoint {
  const never = new Promise<Error>(() => undefined)
  return async () => ({ socket, folder, ended: never, close: async () => undefined })
}
