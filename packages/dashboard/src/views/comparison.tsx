import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'

import { comparePolicies, type PolicyDocument } from '../compare-policies.js'
import { Table } from './parts.js'

/** A version of a policy that the page has seen. */
export interface SeenVersion {
  readonly version: string
  /** RFC 3339: when the page was told. */
  readonly time: string
  readonly document: PolicyDocument
}

/** What the newest version of a policy changes in one that was seen before it. */
export function Comparison({ versions }: { readonly versions: readonly SeenVersion[] }): JSX.Element | null {
  const [newest, ...older] = versions
  const [time, setTime] = useState<string>()
  const chosen = older.find((seen) => seen.time === time) ?? older[0]
  const changes = useMemo(
    () => (newest === undefined || chosen === undefined ? [] : comparePolicies(chosen.document, newest.document)),
    [newest, chosen],
  )
  if (chosen === undefined) return null
  return (
    <>
      <div class="bar">
        <label>
          Compare with
          <select value={chosen.time} onChange={({ currentTarget }) => setTime(currentTarget.value)}>
            {older.map((seen) => (
              <option key={seen.time} value={seen.time}>
                {seen.version.slice(0, 10)} of {seen.time.slice(11, 19)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Table caption={`${changes.length} parts differ`} columns={['Part', 'Change', 'Field', 'Before', 'After']}>
        {changes.flatMap(({ part, change, fields }) =>
          (fields.length === 0 ? [undefined] : fields).map((field) => (
            <tr key={`${part} ${field?.field ?? ''}`}>
              <td>{part}</td>
              <td>{change}</td>
              <td class="code">{field?.field}</td>
              <td class="code">{field?.before}</td>
              <td class="code">{field?.after}</td>
            </tr>
          )),
        )}
      </Table>
    </>
  )
}
