import {
  type Enrolment,
  type MeshConfigurator,
  type SecretSource,
  type SnapshotFeed,
  wantedSecrets,
} from '@osm-ts/core'

/** What {@link followSecrets} joins. */
export interface FollowSecretsOptions {
  readonly feed: SnapshotFeed
  readonly configurator: MeshConfigurator
  readonly enrolment: Enrolment
  readonly secrets: SecretSource
  readonly signal: AbortSignal
}

/**
 * Names the Secrets that policies need to where they are read, now and whenever others are. Resolves when what is needed now was read: proxies that come
 * back to a controller that starts again must not be told for a moment that there is no certificate.
 */
export async function followSecrets({
  feed,
  configurator,
  enrolment,
  secrets,
  signal,
}: FollowSecretsOptions): Promise<void> {
  const follow = (): void => {
    const snapshot = feed.current()
    if (snapshot !== undefined) secrets.follow(wantedSecrets(snapshot, configurator.current(), enrolment))
  }
  const ends = [
    feed.subscribe(({ changed }) => {
      // Most changes are of pods, and name no Secret.
      if (changed.some((key) => key.startsWith('Egress/') || key.startsWith('Namespace/'))) follow()
    }),
    configurator.subscribe(follow),
  ]
  signal.addEventListener('abort', () => {
    for (const end of ends) end()
  })
  follow()
  await secrets.settled(signal)
}
