import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

import type { ShownProblem } from '../api.js'
import { Mark, objectText, placeText, Table, Waiting } from './parts.js'

/** All findings of `osm analyze`, errors first. */
export function ProblemsView({ problems }: { readonly problems: readonly ShownProblem[] | undefined }): JSX.Element {
  const [severity, setSeverity] = useState('all')
  if (problems === undefined) return <Waiting />
  const shown = [
    ...problems.filter((it) => it.severity === 'error'),
    ...problems.filter((it) => it.severity !== 'error'),
  ].filter((problem) => severity === 'all' || problem.severity === severity)
  return (
    <>
      <h2>Problems</h2>
      <div class="bar">
        <label>
          Severity
          <select value={severity} onChange={({ currentTarget }) => setSeverity(currentTarget.value)}>
            <option value="all">all</option>
            <option value="error">errors</option>
            <option value="warning">warnings</option>
          </select>
        </label>
      </div>
      {problems.length === 0 ? (
        <p class="sheet" role="status">
          <Mark tone="good">no problems</Mark> osm analyze finds nothing.
        </p>
      ) : (
        <Table
          caption={`${shown.length} of ${problems.length} findings`}
          columns={['Severity', 'Object', 'Finding', 'Code']}
        >
          {shown.map((problem, at) => (
            <tr key={at}>
              <td>
                <Mark tone={problem.severity === 'error' ? 'bad' : 'warn'}>{problem.severity}</Mark>
              </td>
              <td>
                {objectText(problem.object, problem.field)}
                <div class="soft code">{placeText(problem.origin)}</div>
              </td>
              <td>{problem.message}</td>
              <td>
                <code>{problem.code}</code>
                <div class="soft">{problem.meaning}</div>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
