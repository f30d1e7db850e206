import { describe, expect, it } from '@jest/globals'

import { fakeContext, typedInput, type KeptOutput } from '../../test/fake-context.js'
import { openQuestions, type Questions } from './confirm.js'

function asking(
  lines: readonly string[],
  isTTY = true,
): { readonly questions: Questions; readonly stdout: KeptOutput } {
  const { context, stdout } = fakeContext({ stdin: () => typedInput(lines, isTTY) })
  return { questions: openQuestions(context), stdout }
}

describe('a question', () => {
  it.each([
    [['y'], true],
    [[' YES '], true],
    [['n'], false],
    [['No'], false],
    [['', 'what', 'y'], true],
    [['1', '2', '3'], false],
  ])('that is answered by %j gives %j', async (lines, expected) => {
    const { questions, stdout } = asking(lines)
    await expect(questions.confirm('Really?')).resolves.toBe(expected)
    expect(stdout.text.split('Really? [y/n]: ')).toHaveLength(lines.length + 1)
  })

  it('says what it makes of the third wrong answer', async () => {
    const { questions, stdout } = asking(['1', '2', '3'])
    await questions.confirm('Really?')
    expect(stdout.text).toMatch(/Answer y or n\.\n.*Answer y or n\.\n.*Assuming n\.\n$/s)
  })

  it('gets its own answer, also where several were typed at once', async () => {
    const { questions } = asking(['y', 'maybe', 'n', 'y'])
    const answers = []
    for (const question of ['first', 'second', 'third']) answers.push(await questions.confirm(question))
    expect(answers).toEqual([true, false, true])
    await expect(questions.confirm('fourth')).rejects.toMatchObject({ code: 'OSM_CLI_UNCONFIRMED' })
    questions.close()
  })

  it('fails with a hint if it cannot ask', () => {
    const { context, stdout } = fakeContext({ stdin: () => typedInput(['y']) })
    expect(() => openQuestions(context)).toThrow(
      expect.objectContaining({
        code: 'OSM_CLI_UNCONFIRMED',
        message: expect.stringContaining('not a terminal'),
        details: expect.objectContaining({ hint: expect.stringContaining('--force') }),
      }),
    )
    expect(stdout.text).toBe('')
  })
})
