import {
  type Broker,
  formatProblem,
  type LogLevel,
  type MeshConfig,
  type MeshConfigurator,
  type ProcessLogger,
} from '@osm-ts/core'

/** What follows the configuration. */
export interface ConfigurationFollower {
  readonly configurator: MeshConfigurator
  readonly broker: Broker
  readonly logger: ProcessLogger
}

/** Obeys what MeshConfig says to the process itself, tells drivers of changes, and logs each new problem of it once. */
export function followConfiguration({ configurator, broker, logger }: ConfigurationFollower): void {
  const setLevel = (config: MeshConfig): void => {
    logger.setLevel(levelOf(config.observability.osmLogLevel))
  }
  setLevel(configurator.current())
  configurator.subscribe(({ after }) => {
    setLevel(after)
    broker.publish('meshconfig', {})
  })
  let known: ReadonlySet<string> = new Set()
  const report = (): void => {
    const problems = configurator.problems()
    const now = new Set(problems.map(formatProblem))
    for (const problem of problems)
      if (!known.has(formatProblem(problem)))
        logger.warn(
          { code: problem.code, field: problem.field ?? '', problem: problem.message },
          'MeshConfig has a problem',
        )
    known = now
  }
  report()
  configurator.onRead(report)
}

/** OSM's `panic` is the last level before silence, which is what `fatal` is here. */
function levelOf(level: MeshConfig['observability']['osmLogLevel']): LogLevel {
  return level === 'panic' ? 'fatal' : level
}
