/** What hosts need to use a driver. Drivers do not import it. */
export * from '../capabilities-for-host.js'
export * from '../contract.js'
export * from '../toolkit/ask-probe.js'
export * from '../capabilities-check.js'
export * from '../check-sidecar-patch.js'
export * from '../requirements.js'
