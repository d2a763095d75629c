"""Turns of phrase that only make sense to a model: forged roles, hijacked tasks, personas without rules."""

from __future__ import annotations

from .patterns import page

PHRASES = page(
    r"""
override 100: tells the reader to drop what came before
?  above  previous  foregoing  preceding
    \b(?:ignore|disregard|forget) (?:all |everything |of )?(?:the )?(?:above|previous|foregoing|preceding)[.,!;:]{0,3}
    (?: and| then| instead| now| just){0,3} (?:say|print|output|write|respond|reply|answer|tell|repeat)\b
override 100: declares the instructions void
?  restrictions  constraints  limitations  safeguards  instructions you
    \b(?:restrictions|constraints|limitations|safeguards|guardrails)(?: (?:on|for) you)? (?:(?:are|have been
    |were) (?:now |all )?
    (?:lifted|removed|dropped|suspended|void|cancell?ed)|no longer apply)\b
    |\binstructions? (?:that )?you (?:received|were given
    |got|have)[^.\n]{0,30}\b(?:were|was|are|is) (?:only |just )?(?:a test|wrong|fake|false|outdated|obsolete
    |incorrect|void)\b
authority 70: gives orders in somebody's name
?  i order you  i command you  i hereby  administrator, i  developer, i  creator, i  admin, i
    \bi (?:order|command|hereby (?:instruct|order|authori[sz]e)) you to\b|\bas (?:the
    |your) (?:system )?(?:admin\w{0,10}
    |developer|creator|owner|operator),? i\b
extraction 60: asks for the configuration
?  configuration  hidden prompt  system prompt
    \b(?:reveal|dump|leak|disclose|expose) (?:your|the system) (?:\w+ )?(?:configuration|settings|prompt|setup)\b
persona_idiom 60: frees the reader from its rules by giving it another identity
?  from this point  henceforth  effective immediately  starting now  from here on
    \b(?:from (?:this point|here)(?: on| forward| onwards?)?|henceforth|effective immediately
    |starting now),? (?:you|respond|act
    |answer|behave|always|your)\b
persona_idiom 50: frees the reader from its rules by giving it another identity
?  no limits  no rules  no filter  without limits  without rules  no boundaries  unrestricted agent
    \b(?:with|has|have|under) no (?:limits|rules|filters?|boundaries|morals)\b|\bwithout (?:any )?(?:limits|rules
    |filters?)\b
    |\bas an? (?:unrestricted|unfiltered|uncensored) (?:agent|assistant|ai|model)\b
forged_end 60: pretends to be a message of the system
?  system
    (?m)^[ \t]{0,3}[-=#*]{2,8} {0,2}(?:system|admin|developer) {0,2}[-=#*]{2,8}
rigged_answer 100: orders a verdict
?  reviewer  grader  evaluator  recruiter  screening
    \b(?:ai|llm|automated|language model|gpt) (?:reviewers?|graders?|evaluators?|recruiters?|screeners?) (?:must
    |should|are required to
    |need to|have to) (?:\w+ )?(?:give|rate|score|approve|recommend|accept|praise|rank)\b
override 100: declares the instructions void
?  bound by  constrained by  restricted by  governed by  limited by
    \byou(?:'re| are)? (?:now )?(?:no longer|not|never) (?:bound|constrained|restricted|limited
    |governed) by (?:your|any|the
    |its|earlier|previous|prior|these)\b
override 100: sets the user's request aside
?  the user  you were asked  the human  the question  they asked
    \b(?:ignore|disregard|forget|never mind|pay no attention to|dismiss) (?:what|whatever|anything|everything|that
    |the fact)
    (?: that)? (?:the user|the human|they|you were) (?:\w+ )?(?:asked?|said|says|wants?|wrote|told|requested)
    |\bpay no attention to (?:the|any|all|what|your)\b[^.\n]{0,30}(?:above|question|request|instructions?|prompt
    |user|rules)
override 80: replaces the user's request
?  real request  actual request  real question  real goal  true intent  real intent  real task  actual task
    \b(?:the user|user|human|my|the)(?:'s)? (?:real|actual|true) (?:request|question|goal|intent|intention|task
    |wish) (?:is|was)\b
safeguards_off 100: claims that the safeguards are off
?  safety  filters  restrictions  guardrails  content polic
    \b(?:safety|content|ethical|security) (?:filters?|checks?|protocols?|guidelines|restrictions?|guardrails
    |polic(?:y|ies))
    (?: (?:have been|has been|are|is|were))? (?:now |temporarily )?(?:disabled|off|removed|lifted|suspended
    |deactivated|bypassed)\b
forged_end 100: pretends that the prompt ends here and another begins
?  begin  start  </
    \b(?:begin|start)(?: of)?(?: the)? new (?:system |admin )?(?:prompt|instructions?|session|conversation)\b
    |</(?:document
    |context|data|user_input|input|tool_result|results?|content|instructions?|untrusted\w{0,12}
    |user)>\s{0,4}<(?:system
    |instructions?|user|admin|assistant)
new_task 70: replaces the task
?  now
    \byour (?:only |sole |new )?(?:task|job|goal|role|objective|mission)(?: is)? now(?: is)?(?: to)?\b
fake_completion 50: pretends that the task is finished
?  task  request  job
    \b(?:previous|last|current|original|first|user's) (?:task|request|job|question) (?:is|was|has been) (?:no
    w |already )?
    (?:finished|completed?|done|cancell?ed|over|answered|resolved)\b
phishing 60: has the user led somewhere
?  the user to  your user to  users to
    \b(?:tell|ask|instruct|convince|urge|advise|direct) (?:the|your) users? to (?:visit|click|enter|download
    |install|call|pay
    |send|log ?in|transfer|disable|provide their|share their)\b
hijack 60: dictates the answer
?  the following  this
    \b(?:output|print|say|reply with|respond with|write|return) (?:only )?(?:the following|this)(?: text| sentence
    | message
    | string| words?)? (?:exactly|verbatim|word for word|and nothing else)\b
tool_order 60: puts a tool before all others
?  this tool  any other tool  any tool  other tools
    \b(?:this|the) tool must (?:always )?be (?:called|used|invoked|run) (?:first|before)\b|\bbefore (?:using
    |calling|running) any
    (?: other)? tools?,? (?:always |first |you must |please )?(?:call|use|invoke|run|read)\b
tool_order 50: keeps the model from the right tool
?  tool
    \b(?:do not|don't|never) (?:use|call) the (?:original|other|built-?in|official
    |real) \w{1,30}(?: \w{1,20})? ?tool\b
no_questions 50: keeps the user from being asked
?  never ask  not ask  don't ask  stop asking
    \b(?:never|do not|don't|stop) ask(?:ing)? (?:again|for (?:any )?(?:confirmation|approval|permission|consent)
    |(?:the user|me) (?:again|for (?:confirmation|approval|permission)))\b
addressed 50: speaks to the model in a comment that readers do not see
?  <!--  [//]:  [comment]:
    (?:<!--|\[//\]:|\[comment\]:)[^>\n]{0,40}\b(?:ai|llm|assistants?|agents?|claude|gpt|language models?|chatbots?
    |system)\b[^>\n]{0,24}[:,!]
override 100: tells the reader to drop what came before
?  forget everything  forget all  forget anything  forget that you  forget your
    \bforget (?:everything|anything|all)(?: of)? (?:that )?(?:you|i|we|your|the above|above|prior|previous|before)\b
    |\bforget (?:your (?:training|programming|instructions|guidelines|rules|identity|purpose)|that you are)\b
addressed 50: speaks to the model behind the user's back
?  assistant  language model  llm  chatbot  ai agent
    \b(?:the|your|any|an?|every) (?:ai |email |virtual |digital )?(?:assistant|language model|llm|chatbot
    |ai agent) (?:must|is required to|has to|shall|is instructed to|should (?:also |always |immediately |no
    w |first )?(?:send|record|include|forward|transfer|reply|respond with|ignore|email|execute|call|delete|disclose
    |reveal|add))\b|\bnote to (?:the )?\w{0,12} ?(?:assistant|ai|llm|agent|model|bot)\b
    |\bwe need your (?:ai )?(?:assistant|agent|model) to\b
hijack 60: puts its own task before the user's
?  before processing  before any other  before doing anything  before handling  as part of your
    \bbefore (?:processing|handling|reading|doing|answering|performing) (?:any|the|this|all
    |other)[^.\n]{0,40},? (?:the |an? |any )?(?:assistant|you|ai|agent|model)\b[^.\n]{0,20}(?:should|must|need|have
    |record|send|include)|\bas part of (?:your|the) [^.\n]{0,40}(?:please )?(?:also )?(?:include|send|add|forward
    |record|copy)\b[^.\n]{0,80}\b(?:every|each|all|to [\w.+-]{1,40}@)
persona_slot 40: a frame around a question to come
?  insert prompt  insert your  first question  first prompt  {{ prompt  {{prompt  my first request  insert topic
    \[insert (?:your )?(?:prompt|topic|question|request)|(?:my|the) first (?:question|prompt|request|command
    |instruction|task)(?: is| will be)?\s{0,2}[:\[\"“]|\{\{ ?prompt ?\}\}
persona_idiom 60: frees the reader from its rules by giving it another identity
?  personalit  two ways  two responses  two different  game  hypothetical  fictional  from now on  you're now
?  you are now  sentience  confirm you understand  do you understand  break character  tokens
    \b(?:respond|answer|reply)\b[^.\n]{0,60}\b(?:two (?:different )?(?:ways|personalities|responses|paragraphs)
    |as two)\b|\bfrom now on,? you(?:'re|'ll| are| will| must| should| have)\b|\b(?:not|never
    |don't) (?:to )?break (?:the )?character\b|\bnot (?:controlled|bound|restricted|limited) by (?:openai|any|rules
    |morals|the)\b|\bif you (?:understand|agree)[^.\n]{0,40}(?:say|reply|respond|answer)\b|\b(?:lose|deduct
    |gain)\w{0,3} [^.\n]{0,20}tokens\b|\bconfirm (?:that )?you understand\b
override 100: declares the instructions void
?  instructions  prompt  rules  guidelines  task
    \b(?:your|earlier|previous|prior|original|old|former|initial|above|these|all) (?:\w+ ){0,2}(?:instructions?
    |prompts?|rules|guidelines|task|orders|directives) (?:have (?:now )?(?:been )?(?:changed|updated|replaced|revoked
    |cancell?ed|superseded)|(?:is|are) (?:now |hereby )?(?:void|cancell?ed|obsolete|revoked|invalid|superseded
    |replaced|null|outdated)|no longer (?:appl|matter|count|valid|hold))
new_task 60: replaces the task
?  new instruction  new task  new objective  new primary  updated instruction  new goal  new directive  new system
?  primary objective  new rules  new mission  real task  actual task  true task
    (?m)(?:^|[.!?\]>*#:] {0,3})[#*=\[<-]{0,6} {0,2}(?:your |the |here are |this is )?(?:new|updated|revised|real
    |actual|true)(?: your)? (?:primary |main |system |security |critical |higher-priority )?(?:instructions?|task
    |objective|goal|directives?|mission|orders|rules|prompt)\b {0,2}(?:[#*=\]>:!-]|is |are )
    |\bnew primary (?:objective|goal|task|directive)\b
forged_role 60: pretends to be another speaker of the conversation
?  [system  [admin  system update  system override  system alert  system notice  priority override
?  security notice
    (?m)\[(?:system|admin(?:istrator)?|developer|root)(?: \w{3,12}){0,2}\]|^[ \t>#*!-]{0,6}(?:important |urgen
    t |critical )?system (?:update|override|alert|notice|message|directive|command|instruction)s?\b[ *]{0,3}[:!\]]
forged_role 100: pretends to be another speaker of the conversation
?  <information  <system  <important  <user  <admin  <instruction
    <(?:information|important|system|user|admin|instructions?)>\s{0,8}(?:system|user|assistant|developer)\s?:
hijack 70: puts its own task before the user's
?  the rest of  everything else  anything else  all other
    (?:^|[.!?:\n>*-] {0,3}|\b(?:please|must|should|and|then|now|agents?|assistant|ai|you|to) )(?:ignore|disregard
    |skip|forget|stop reading) (?:the rest of|everything else|anything else|all other (?:text|content|instructions
    |tasks?|documents?|results?))(?: (?:the|this|that) (?:page|document|text|file|content|article|email|message|data
    |prompt|website|conversation))?
authorised 60: claims a permission that the text cannot give
?  authorised  authorized  approved  consented  permission  pre-approved
    \b(?:the )?(?:user|owner|admin(?:istrator)?|operator|human|developer|security team|openai|anthropic) (?:has
    |have) (?:already |explicitly |previously |fully )?(?:authori[sz]ed|approved|consented|pre-approved
    |given (?:permission|consent)|granted)\b
fake_completion 50: pretends that the task is finished
?  complete  done  finished
    (?:^|\n|[.\"'] )\s{0,3}(?:answer|response|output|result|status|summary)\s?:\s?(?:the )?(?:task|request|summary
    |objective|job|translation) (?:is |was |has been )?(?:successfully )?(?:complete|done|finished|accomplished)
forged_role 100: pretends to be another speaker of the conversation
?  <|  [inst  <<sys  [/inst
    <\|(?:im_start|start_header_id)\|>\s{0,2}(?:system|user|assistant|developer)\b|<\|(?:system|user|assistant)\|>|<
    \|im_end\|>\s{0,3}(?:\n|<\|)|\[inst\][^\n]{0,200}\b(?:you|ignore|must|now)\b|<<sys>>\s{0,3}\S|\[/inst\]\s{0,3}\w
forged_role 60: pretends to be another speaker of the conversation
?  system  assistant
    (?m)^[ \t>#*\[(<-]{0,6}(?:new |updated )?(?:system|developer|admin(?:istrator)?)(?: (?:message|prompt|note|notice
    |instructions?|override|alert|update))?[\])*>]{0,3}: {0,3}(?:you|focus|please|ignore|the |from|all |your
    |disregard|provide|respond|do |send|this|new|now|override|user)
forged_role 50: pretends to be another speaker of the conversation
?  assistant:  ai:  bot:
    (?:^|\n)[ \t]{0,4}(?:assistant|ai|bot|chatgpt):[^\n]{0,400}\n{1,3}[ \t]{0,4}(?:user|human):
forged_role 70: pretends to be another speaker of the conversation
?  user:  human:
    (?:\n[ \t]{0,4}|[.!?\]] )(?:user|human): {0,2}(?:thanks|next|there are|now|please|ignore|great|ok|i want
    |could you|forget
    |actually|can you)[^\n]{0,200}(?:repeat|ignore|instead|focus|print|say |send|forget|following|reply|write|tell
    |give)
forged_role 60: pretends to be another speaker of the conversation
?  <system  </system  [system  <admin  <instructions  <important  <information  <user_query
    (?:<|\[)/?(?:system|admin|important|information|instructions?|user_query)(?:[_ -](?:message|prompt|instructions?
    |note|override|reminder))?(?:>|\])[^<]{0,300}\b(?:you must|ignore|ai assistant|do the following|your (?:task|new
    |instructions)|override|before (?:you|using)|assistant|immediately)
forged_end 50: pretends that the document or the prompt ends here
?  begin  start  end
    (?:[-=#*<\[]{2,8} ?)(?:begin|start|end)(?: of)? (?:new |the |admin |hidden )?(?:system|admin|session|prompt
    |instructions?|context|document|user (?:input|query)|conversation)[^\n]{0,20}(?:[-=#*>\]]{2,8})
forged_end 60: pretends that the document or the prompt ends here
?  end of
    (?:<end of (?:session|document|text|context|prompt)>\s{0,3}){2,}
hijack 60: puts its own task before the user's
?  before you  before doing  prior to  before using  before responding  before answering  before proceeding
?  before continuing  before completing
    (?:before|prior to) (?:you )?(?:can |could |may |do |doing |you |to |anything |else |start |begin )?(?:solv
    |answer|respond|repl|continu|proceed|complet|us(?:e|ing)|perform|summar|process|finish|help
    |tak)\w{0,6}\b[^.!?]{0,100}?\b(?:please |you must |you need to |you have to |first,? |always |it i
    s |make sure )[^.!?]{0,30}?\b(?:do|run|send|execute|follow|perform|call|read|fetch|open|first|pass)\b
hijack 60: puts its own task before the user's
?  do the following first  following first  do this first  first do  instead of  rather than
    \bdo (?:the following|this|these) first\b|\b(?:instead of|rather than) (?:summari[sz]|answer|respond|complet
    |translat|follow|perform|help)\w{0,6}[^.!?\n]{0,80}?\b(?:you (?:must|should|will)|please|output|print|say|reply
    |respond|write|send)\b
hijack 50: puts its own task before the user's
?  after you do that  after that  once you  once done
    \b(?:after (?:you do )?that|once (?:you (?:have|are) )?(?:done|finished|completed)),? (?:you can|continue|resume
    |proceed)[^.\n]{0,40}\b(?:task|solve|original|request|normal)
hijack 60: puts its own task before the user's
?  just print  just say  only print  only say  just output  just respond  only respond  respond only  reply only
?  reply with only  respond with only  just reply  only output
    \b(?:and|now|instead|must|summary|!|,|user)\W{0,6}(?:just|only|simply)? {0,1}(?:print|say|output|repl(?:y|ies)
    |respond|answer)(?: only| just)?(?: with)?(?: only| just| exactly)?(?: the following| this| \"|\W{0,3}['\"“])
    |\b(?:stop everything|now)\W{1,12}(?:just|only) (?:print|say|output)|(?:reply|respond) with only the following
hijack 60: puts its own task before the user's
?  disregard  ignore  pay no attention
    \b(?:disregard|ignore|pay no attention to) (?:all|any|every|the|this|that)? ?(?:other|rest|info(?:rmation)?|text
    |else|data|content|context|input|them)\b[^.\n]{0,80}?\b(?:except|instead|and (?:just |only |instead )?(?:print
    |say|output|write|focus|respond|reply|do|tell|return|answer)|but)\b
hijack 60: puts its own task before the user's
?  focus only on  focus exclusively on  focus solely on
    \bfocus (?:only|exclusively|solely) on (?:the )?(?:following|this|information|next|text)\b
hijack 60: puts its own task before the user's
?  stop everything  stop what you  stop your  stop the current  halt  abort
    \bstop (?:everything|what you(?:'re| are) doing|your current task|the current task|all (?:other )?(?:tasks
    |processing))\b|\b(?:halt|abort) (?:the |your |all )(?:current |previous )?(?:task|process|execution)
hijack 60: puts its own task before the user's
?  if questioned  if asked  when asked
    \b(?:if|when) (?:questioned|asked)(?: about (?:this|it|the)[^,.]{0,30})?,? (?:you (?:must|should
    |will) )?(?:always )?(?:report|say|answer|reply|respond|claim|deny|state|tell|insist|pretend)\b
hijack 50: puts its own task before the user's
?  include the marker  include the phrase  include the word  include the string  include this
    \b(?:also|as part|must|make sure|always|please)\b[^.\n]{0,60}\binclude (?:the (?:exact )?(?:marker|phrase|words?
    |string|text|token|sentence|code)|this)\b[^.\n]{0,60}
hijack 40: puts its own task before the user's
?  repeat the following  repeat this  could you repeat  please repeat
    \b(?:please|could you|next,?) (?:please )?repeat (?:the following|this|<|\"|after)
hijack 40: speaks to the model behind the user's back
?  important message  this is an important  attention  important!!!  urgent
    \b(?:this is an? )?(?:important|urgent) (?:message|notice|instruction|note) (?:from me|to you|for (?:you|the|all
    |any) )|\bimportant!{2,}|\battention[,:!]? (?:all )?(?:ai|llm|assistant|agents?|language model|model)
addressed 50: speaks to the model behind the user's back
?  ai·  ai,  ai:  ai.  llm  assistant  language model  agent
    \bto you,? (?:the )?(?:ai|assistant|llm|model|chatbot)\b|\b(?:note|message|notice|instructions?|reminder
    |memo) (?:to|for) (?:the |all |any |every )?(?:ai|llm|assistants?|language models?|chatbots?)\b
    |\bif you are (?:an? )?(?:ai|llm|language model|large language|assistant|chatbot)\b|\b(?:ai|llm)s? (?:reading
    |processing|parsing|summari[sz]ing|viewing|scanning) this\b|\bdear (?:ai|assistant|llm|chatgpt|claude)\b
    |\bhey,? (?:ai|assistant|chatgpt|claude|gpt)\b
addressed 100: speaks to the model behind the user's back
?  visible to  invisible to  hidden from
    \b(?:invisible|not visible|hidden) (?:to|from) (?:humans?|the (?:user|reader|human))[^.\n]{0,40}\b(?:visible
    |readable) (?:only )?(?:to|by|for)\b|\b(?:only )?(?:visible|readable) (?:only )?(?:to|by|for) (?:ai|llm
    |language model|machines|bots|agents?)\b
addressed 70: speaks to the model behind the user's back
?  screening system  automated screening  ai evaluator  ai reviewer  llm reviewer  ai screen  ats system
    \b(?:for|to|note to) (?:the )?(?:automated |ai |llm |ats )?(?:screening|evaluat|review|grading|hiring
    |recruit)\w{0,5} (?:systems?|models?|ai|bots?|llms?)\b
addressed 60: pretends to be another speaker of the conversation
?  chain of thought  thought result  internal reasoning  analysis result
    \bsystem (?:chain of thought|analysis|reasoning|evaluation) (?:result|output|conclusion)
extraction 100: asks for the system prompt
?  what are your  what were your  what is your  what's your  what were you told  what are you not
?  opposite of your
    \bwhat(?:'s| is| are| were) (?:the opposite of )?your (?:exact |full |complete |initial |original |hidde
    n |secret |system |first |very )+(?:instructions?|prompts?|rules|guidelines|messages?|directives?)
    |\bwhat were you (?:told|instructed|given|asked)\b|\bwhat are you not (?:supposed|allowed) to\b
extraction 100: asks for the system prompt
?  repeat  output  print  show  display  reveal  leak  encode  translate  recite  echo  tell me  give me  see the
?  write
    \b(?:repeat|output|print|show|display|reveal|leak|encode|translate|recite|echo|tell|give|write|paste|dump|copy
    |send)\b[^.\n]{0,40}?\b(?:(?:your|the) (?:\w{1,12} ){0,2}(?:system|initial|original|starting|hidden|secret
    |developer|base|first) (?:prompts?|instructions?|messages?|configuration|config|text|guidelines|rules)
    |system ?prompts?\b(?! engineering)(?=[^\n]{0,40}(?:now|immediately|audit|verbatim|word|full|txt|code block|above
    |\.|$|in json|for (?:trouble|debug)))|(?:text|words|instructions?|everything|content|messages?|conversation
    |lines?|all) (?:that (?:is|are|was|were) )?(?:above|you were (?:given|told)|before this|back to me)
    |(?:the )?above (?:text|instructions?|words|conversation|message)|(?:the )?instructions you were given
    |<system_prompt>|initiali[sz]ation string|system configuration)
extraction 100: asks for the system prompt
?  my instructions are  i was instructed  the system prompt is  your initial prompt  your system instructions
?  your initial instructions  your system prompt  console.log(systemprompt  text you were given
    (?:start|begin|continue|complete)[^.\n]{0,40}['\"“]?(?:my instructions are|i was instructed|the system prompt is)
    |(?:translate|encode|rot13|base64|emoji|summari[sz]e|opposite|then show|reveal|print
    |show)[^.\n]{0,60}(?:your (?:initial|system) (?:prompt|instructions|message)|text you were given)
    |console\.log\(systemprompt
override_mode 100: frees the reader from its rules by giving it another identity
?  maintenance mode  debug mode  developer mode  god mode  admin mode  administrator override  admin override
?  override code  sudo mode  root mode  dan mode  jailbreak mode  unrestricted mode  test mode
    \b(?:you are (?:now )?in|enter(?:ing)?|enable[ds]?|activate[ds]?|switch(?:ing)? (?:to|into)|with) (?:
    a |the )?(?:maintenance|debug|developer|god|admin|sudo|root|dan|jailbreak|unrestricted
    |test) mode\b(?=[^\n]{0,200}(?:you|display|ignore|restrict|output|respond|prompt|enabled))
    |\badmin(?:istrator)? override\b|\b(?:dan|jailbreak|developer) mode (?:enabled|output|activated|response)\b
persona_idiom 100: frees the reader from its rules by giving it another identity
?  do anything now  strive to avoid norms  stay in character  stay a dan  jailbroken  broken free of
?  freed from the typical  typical confines
    \bdo anything now\b|\bstrive to avoid norms\b|\b(?:broken|break|freed?) (?:free )?(?:of
    |from) the typical confines\b|\btypical confines of a[il]\b|\bsuccessfully jailbroken\b|\bstay (?:in character!
    |a dan)\b
persona_idiom 50: frees the reader from its rules by giving it another identity
?  abide  comply with  openai  anthropic  content polic  ethical  moral  guidelines  restrictions  filters
    \b(?:do(?:es)? not|don't|doesn't|no longer|never|need not|without) (?:have to |need to |having t
    o |has to )?(?:abide|adher|comply|follow|obey|respect|be bound|be limited|be restricted)\w{0,4} (?:by|to
    |with)? ?(?:the |any |its |their |your |these |openai(?:'s)? |usual |normal )*(?:rules?|guidelines|polic(?:y|ies)
    |restrictions|laws|ethic\w{0,4}|content|moral\w{0,4}|limits|limitations|confines)|\b(?:no|without(?: any)?
    |free (?:of|from)(?: any| all)?|bypass(?:es|ing)?|unbound by|ignores?|not bound by|lacks?|devoid of) (?:the |an
    y |all |of |its |your |openai |ethical |moral |safety |content |legal |or |and |,)*(?:filters?|restrictions?
    |ethic\w{0,4}|morals?|morality|guidelines|censorship|limitations|content polic(?:y|ies)|safety (?:filters
    |measures|guidelines|protocols))\b
persona_idiom 50: frees the reader from its rules by giving it another identity
?  never refuse  cannot refuse  never say no  can't refuse  not refuse  never decline  cannot say no  as an ai
?  i'm sorry  i cannot  i can't
    \b(?:never|cannot|can't|must not|will not|won't|not|don't) (?:ever )?(?:refuse|decline|reject|say no
    |say (?:that )?(?:you|i) (?:can't|cannot)|say (?:\w+ ){0,4}['\"“]?(?:i'm sorry|i cannot|i can't|sorry|as an ai))
    |\bnever (?:use|include|say|add)[^.\n]{0,40}(?:as an ai|disclaimer|warning|i'm sorry)
persona_idiom 50: frees the reader from its rules by giving it another identity
?  pretend  act as  roleplay  role-play  role play  play the role  you are now  you will be  you are going to
?  simulate  imagine you  immerse yourself  from now on
    \b(?:from now on,? )?you (?:are|will|'re)(?: now| about| going)?(?: to)?(?: be| become| act| play| pretend
    | immerse| roleplay| simulate| respond| speak| answer| behave| have)\b[^.\n]{0,80}\b(?:as|to be|role|into|named
    |called|character|like)\b|\bfrom now on,? you (?:are|will|must|should|have)\b|\b(?:pretend
    |imagine) (?:that )?(?:you|to be|you're|you are)\b[^.\n]{0,80}\b(?:ai|model|assistant|character|evil|no |without
    |unrestricted|hacker|can)\b|\bplay the role of (?:another|an? (?:ai|unrestricted|evil|amoral))\b
    |\byou are now (?:an? |the |called |named |in )?\w+(?: \w+){0,6}
persona_idiom 50: frees the reader from its rules by giving it another identity
?  illegal  unethical  harmful  immoral  offensive  nsfw  profan  swear  derogatory  uncensored  unfiltered
?  amoral
    \b(?:even if|regardless|including|no matter|any|anything)\b[^.\n]{0,60}\b(?:illegal|unethical|immoral|harmful
    |offensive|nsfw|dangerous|derogatory)\b|\b(?:uncensored|unfiltered|unrestricted|amoral
    |unethical)[ ,]{1,2}(?:\w+[ ,]{1,2}){0,3}(?:ai|model|chatbot|assistant|response|answer|version|bot|language model
    |persona)\b
secrecy 80: keeps something from the user
?  do not tell  don't tell  do not mention  don't mention  without telling  do not inform  don't inform
?  never mention  never tell  not reveal  without informing  not disclose  without notifying  do not notify
?  never reveal  without the user  do not alert  without mentioning  do not show  do not let
    \b(?:do not|don't|never|must not|should not|without) (?:ever )?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?
    |reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?|show(?:ing)?
    |let(?:ting)?) (?:\w+ ){0,5}?(?:to )?(?:the )?(?:users?|human|owner|anyone|anybody|operator|them)\b(?! (?:input
    |interface|data|model))|\bwithout the user(?:'s)? (?:\w+ )?(?:knowing|knowledge|noticing|consent|awareness
    |approval|permission)
secrecy 60: keeps something from the user
?  keep this  keep it  out of your reply  out of your answer  out of your response  not mention this
?  don't mention this  this instruction
    \bkeep (?:this|it|that) (?:\w+ )?(?:hidden|secret|confidential|private|out of|between us|quiet|to yourself)
    |\b(?:do not|don't|never) (?:mention|reveal|acknowledge|discuss|repeat|disclose) (?:that you|this|these
    |the existence|any of this|having)\b[^.\n]{0,30}(?:instruction|message|note|rule|step|action|$|\.|to)
secrecy 50: keeps something from the user
?  without asking  without confirmation  without approval  without prompting  without user  without requesting
?  don't ask  do not ask  without permission
    \b(?:run|execute|send|delete|proceed|install|transfer|approve|commit|fill|commands?|act|pay|purchase|book|carry
    |perform|do (?:it|this|so|that))\b[^.\n]{0,50}\bwithout (?:asking|confirmation|approval|prompting|user (?:consent
    |confirmation|approval)|requesting|any (?:confirmation|approval)|permission)
safeguards_off 70: switches off what protects the user
?  approval  permission  sandbox  confirmation  guardrail  yolo  safety  allowlist  auto_approve  autoapprove
?  auto-approve  bypasspermissions
    \b(?:approval_?(?:mode|policy|s)|confirm(?:ations?|_commands)|sandbox(?:_mode)?|permission_?mode|guardrails
    |safety_checks?)[\"'` ]{0,2}[:=][\"'` ]{0,3}(?:off|none|never|false|no|disabled?|bypass\w{0,12}|yolo
    |danger\w{0,20})\b|\b(?:disable|turn off|switch off|deactivate|bypass|remove) (?:\w+ ){0,2}(?:approvals?
    |confirmations?|guardrails?|safety (?:checks?|filters?)|permission (?:checks?|prompts?)|the sandbox
    |content filters?)\b|dangerously[-_]skip[-_]permissions|\byolo mode\b|\bauto[-_ ]?approve\W{1,4}(?:all|true|yes
    |\*|everything)|bypasspermissions
toxic_task 100: slips in a task of its own
?  toxic  discriminatory  offensive  hateful  harmful  negative  unfriendly  racist  insulting
    \bwrite (?:one|an?|some|\d+) (?:\w+ )?(?:toxic|discriminatory|offensive|hateful|harmful|negative|unfriendly
    |racist|insulting|sexist) (?:sentence|paragraph|comment|statement|review|post|tweet)s?\b
rigged_answer 60: dictates the answer
?  is clearly not malicious  is safe  everything is safe  not malicious  is legitimate  no threat
?  amazing addition  expert-level  it is critical to my career  extremely important
    \b(?:is|are) (?:clearly|definitely|absolutely|completely|obviously) (?:not malicious|safe|benign|legitimate
    |harmless)\b|\bevidence (?:indicates|shows|suggests) everything is (?:safe|fine)\b
    |\bsay:? {0,2}['\"“]?the \w+ [\w.-]{1,60} is (?:safe|malicious|legitimate)\b
    |\bdisappointed if we did not (?:recommend|hire)|\bcritical to my career\b
    |\breally important,? extremely important\b
"""
)
