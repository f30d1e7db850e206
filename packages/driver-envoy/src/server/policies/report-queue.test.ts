import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'

import { ReportQueue } from './report-queue.js'

describe('a queue of reports', () => {
  beforeEach(() => {
    jest.useFakeTimers()
  })
  afterEach(() => {
    jest.useRealTimers()
  })

  const queue = (): ReportQueue => new ReportQueue({ turnMs: 10, lateMs: 500 })
  const reporter = () => ({ report: jest.fn() })

  it('makes a report in one of the next turns', () => {
    const [reports, soon] = [queue(), reporter()]
    reports.add(soon)
    reports.add(soon)
    expect(soon.report).not.toHaveBeenCalled()
    jest.advanceTimersByTime(1)
    expect(soon.report).toHaveBeenCalledTimes(1)
  })

  it('makes a report that waits for an answer once, with the answer', () => {
    const [reports, answered] = [queue(), reporter()]
    reports.addLater(answered)
    jest.advanceTimersByTime(300)
    expect(answered.report).not.toHaveBeenCalled()
    reports.add(answered)
    jest.advanceTimersByTime(5000)
    expect(answered.report).toHaveBeenCalledTimes(1)
  })

  it('makes a report that waits as soon as no answer is awaited any more', () => {
    const [reports, waiting, other] = [queue(), reporter(), reporter()]
    reports.addLater(waiting)
    reports.addIfLater(waiting)
    reports.addIfLater(other)
    jest.advanceTimersByTime(1)
    expect(waiting.report).toHaveBeenCalledTimes(1)
    expect(other.report).not.toHaveBeenCalled()
  })

  it('makes a report that waits before something else happens to its stream', () => {
    const [reports, waiting, other] = [queue(), reporter(), reporter()]
    reports.addLater(waiting)
    reports.flush(waiting)
    reports.flush(other)
    expect(waiting.report).toHaveBeenCalledTimes(1)
    expect(other.report).not.toHaveBeenCalled()
    jest.advanceTimersByTime(5000)
    expect(waiting.report).toHaveBeenCalledTimes(1)
  })

  it('makes a report whose answer does not come after a while, and then stops its timer', () => {
    const [reports, unanswered] = [queue(), reporter()]
    reports.addLater(unanswered)
    jest.advanceTimersByTime(5000)
    expect(unanswered.report).toHaveBeenCalledTimes(1)
    expect(jest.getTimerCount()).toBe(0)
    reports.addLater(unanswered)
    jest.advanceTimersByTime(5000)
    expect(unanswered.report).toHaveBeenCalledTimes(2)
  })

  it('forgets a stream that ends', () => {
    const [reports, ended] = [queue(), reporter()]
    reports.addLater(ended)
    reports.add(ended)
    reports.addLater(ended)
    reports.delete(ended)
    jest.advanceTimersByTime(5000)
    expect(ended.report).not.toHaveBeenCalled()
    expect(jest.getTimerCount()).toBe(0)
  })
})
