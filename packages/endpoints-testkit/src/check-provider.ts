import { type ProviderCheck, providerChecks, type ProviderSubject } from './checks.js'

/** What became of a check. */
export type ProviderCheckResult = Pick<ProviderCheck, 'id' | 'proves'> &
  (
    | { readonly outcome: 'passed' }
    | { readonly outcome: 'failed'; readonly faults: readonly string[] }
    /** The subject lacks what the check needs. */
    | { readonly outcome: 'not made'; readonly needs: NonNullable<ProviderCheck['needs']> }
  )

/** Runs all checks on a provider, one after the other. Never rejects: what the provider throws is a fault. */
export async function checkProvider(subject: ProviderSubject): Promise<readonly ProviderCheckResult[]> {
  const results: ProviderCheckResult[] = []
  for (const { id, proves, needs, faults } of providerChecks) {
    if (needs !== undefined && !has(subject, needs)) {
      results.push({ id, proves, outcome: 'not made', needs })
      continue
    }
    // oxlint-disable-next-line no-await-in-loop -- a provider that is checked shares its source with no other check
    const found = await faults(subject).catch((error: unknown) => [
      error instanceof Error ? error.message : String(error),
    ])
    results.push({ id, proves, ...(found.length === 0 ? { outcome: 'passed' } : { outcome: 'failed', faults: found }) })
  }
  return results
}

function has({ objects = [], outage }: ProviderSubject, needs: NonNullable<ProviderCheck['needs']>): boolean {
  return needs === 'objects' ? objects.length > 0 : outage !== undefined
}
