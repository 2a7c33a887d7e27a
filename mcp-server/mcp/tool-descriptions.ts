/**
 * What a model reads before it uses a tool for the first time: when to use it, what comes back, what to
 * do next. Each under 2 KB. A test pins the bound.
 */

export const serverInstructions = `fermata runs sub-agents for you. Give each independent piece of work to its own sub-agent: call spawn once for each (it returns at once), then await once with all the handles. Sub-agents run side by side, on their own context, with their own tools, and go on if you or this server stop; a handle stays valid.`;

export const descriptions = {
  spawn: `Starts a sub-agent on a task and returns {handle} at once, without waiting. The sub-agent is a fresh model with its own context and tools; it works until it has an answer.

Use it to fan out: when a job has parts that do not need each other (files to read, questions to look up, variants to try), call spawn for every part first, then call await ONCE with all handles. Do not await after each spawn; that makes them run one after another. For a single task whose answer you need now, use run.

The sub-agent sees only what you write in task (and system): put in everything it needs, and say what the answer should look like. It returns text; nothing of your conversation is visible to it. Its calls of destructive tools, and of those named in approveTools, wait until somebody decides them with approve.

With parent (a handle) the new run belongs to that run: cancelling the parent ends it too, and the budget of the parent holds for both. The parent may have ended, but not been cancelled. A tree is at most 8 runs deep and has at most 1,000 runs; you may have 100 at work at once unless it is set otherwise; where a limit is reached, spawn says so: await or cancel some.

budgetTokens, budgetToolCalls and budgetSeconds limit the run and everything below it together, runs spawned later too. At a limit all of that ends as Cancelled, with a reason such as "budget exceeded: tokens 10234/10000", and keeps its partial text.

The run is stored before spawn answers. It survives restarts and goes on when you disconnect. If you may repeat the call (after an error or a timeout), pass a requestId: the same id gives the same run again instead of a second one.`,

  await: `Waits for runs started with spawn and returns their answers. Pass ALL the handles you are waiting for in one call: one await on many handles is the way, not one call for each.

mode "all" (default) returns when every run has ended, "any" as soon as one has, so you can use its answer while the others go on.

Returns for each run: status (Running, AwaitingApproval, Completed, Failed, Cancelled), result when it completed, otherwise reason and the partial text, and counts of tool calls and tokens. When timeoutSeconds pass first, it returns done: false and the runs go on: call await again with the same handles. Nothing is lost, and ended runs may be awaited again at any time. When a tool call waits for approval, the user is asked in a form if your client can show one, and the wait goes on with the answer. If it cannot, and every run that has not ended waits (pendingApprovals), it returns done: false early: decide with approve, then await again. Long results are cut in the middle, with a note; to get less, ask the sub-agent for a shorter answer.`,

  run: `Starts one sub-agent and waits for its answer in the same call: spawn and await in one. Use it for a single task whose answer you need before you go on. For several independent tasks use spawn for each and then one await; they run side by side.

Arguments are those of spawn. Returns what await returns, for at most 10 minutes; a run that takes longer goes on, and the answer says done: false with its handle: call await with it. If the call breaks off, the run goes on too; status without a handle lists it.`,

  status: `Tells how runs stand, without waiting. With a handle: status, what it does now, its task, counts of turns, tool calls and tokens, and times; its parent and its children; and under subtree the totals of the run and everything below it. Without a handle: your newest runs with their handles (a run appears there about a second after spawn). To get the answer of a run, use await.`,

  cancel: `Ends a run that is not needed any more and all runs below it (those spawned with it as parent, and theirs); their model and tool calls are stopped at once. Other runs go on. Returns how many runs it reached: 0 when all of them had ended already. Nothing can be spawned under a cancelled run any more. What the runs had written so far stays and is shown as partial by await; the reason is shown with each of them.`,

  approve: `Decides a tool call of a sub-agent that waits for the user: allow true makes the call, once, with exactly the arguments shown; allow false declines it, and the sub-agent goes on without it. Calls of destructive tools wait, and calls of tools named in approveTools of spawn.

Use it when await or status shows pendingApprovals; where your client can show forms, await and run have asked the user already, and there is nothing to do. Ask the user first, with the tool and its arguments, unless you were told what to decide. Pass the approvalId you were shown; without it the only call that waits is meant, and when several wait you get their list. Then await goes on as before.

A call is decided once. If somebody else was faster you are told what was decided and by whom, and your answer changes nothing. A call waits as long as it takes, for days and across restarts; to end it without a decision, cancel the run.`,

  tools: `Lists the tools that sub-agents can use, by server, with what they do. Look here before you restrict a run with the tools argument of spawn: it takes these names. Without that argument a sub-agent may use all of them. These tools are for sub-agents; you cannot call them yourself.`,

  decide: `Classifies a text fast and cheaply: one short model step, no sub-agent. With labels (2 to 20) it picks one of them and returns the probability of each, such as ["yes","no"] for a check or ["bug","feature","question"] for sorting. Without labels it uses a classifier of the pool, if there is one, with the classifier's own labels. Returns {label, probabilities, unscored}. For anything that needs reading, tools or an explanation use run or spawn.`,
} as const;
