/** Passes the first lines on and swallows the rest: a chatty tool server does not fill the worker's log. Pure. */

export type FirstLines = (line: string) => void;

/** Lines of one kind logged for one connection. */
const mostLines = 10;
const longestLine = 500;

export function firstLines(log: (line: string) => void): FirstLines {
  let lines = 0;
  return (line) => {
    lines += 1;
    if (lines <= mostLines) log(line.slice(0, longestLine));
  };
}
