"""Words that carry an intent, in many languages. One line a concept: English first, then the others after the bar.

A trailing `*` takes every ending. Words are folded like the text is, so accents, case and look-alike letters do not
matter here. English is kept apart because its word order is strict, while other languages put the verb last.
"""

from __future__ import annotations

IGNORE = 1 << 0
PRIOR = 1 << 1
ALL = 1 << 2
RULES = 1 << 3
YOURS = 1 << 4
SYSTEM = 1 << 5
REVEAL = 1 << 6
FOLLOW = 1 << 7
FOLLOWING = 1 << 8
MUST = 1 << 9
STRICTLY = 1 << 10
UTTER = 1 << 11
MACHINE = 1 << 12
PERSON = 1 << 13
TELL = 1 << 14
NOT = 1 << 15
SEND = 1 << 16
SECRET = 1 << 17
CONTENT = 1 << 18
PLACE = 1 << 19
TASK = 1 << 20
PERSONA = 1 << 21
FREE = 1 << 22
LIMITS = 1 << 23
RUN = 1 << 24
CONFIG = 1 << 25
STANDING = 1 << 26
DECODE = 1 << 27
FOREIGN = 1 << 28
ENGLISH = 1 << 29
SECURITY = 1 << 30
HIDE = 1 << 31
NEW = 1 << 32
ASK = 1 << 33
YOU = 1 << 34

WORDS: dict[int, str] = {
    IGNORE: """
        ignore disregard forget override overrides bypass neglect discard abandon dismiss overlook nullify
        unlearn overwrite erase wipe supersede supersedes scrap
        | ignorier* missacht* vergiss vergessen vergesst ubergeh* verwirf ignorez ignore ignorer oublie* neglig*
        ignora* olvid* descart* omite omita omitir prescind* esquec* desconsider* despreze dimentic* trascur*
        scord* negeer negeren vergeet zignoruj* ignoruj* ignorowa* zapomnij* pomin* zapomen* uita ignorera glom
        bortse glem unohda sivuuta hagyd felejts* yok unut* gormezden abaikan lupakan игнорир* проигнорир*
        забуд* ігнор* проігнор* تجاهل* انس התעלמ* התעלם שכח* نادیده अनदेखा नजरअंदाज नज़रअंदाज़ भूल* উপেক্ষা เพิกเฉย
        ละเว้น 忽略 忽视 忽視 无视 無視 忘记 忘記 忘掉 别管 忘れ 従わない 従わず 무시 잊어 잊으 αγνοησ* ξεχασ*
        bo_qua phot_lo faites_abstraction caso_omiso
    """,
    PRIOR: """
        previous previously prior above preceding earlier before initial original foregoing past former
        beginning aforementioned heretofore
        | vorherig* vorig* bisherig* obig* fruher* vorangegangen* precedent* anterieur* dessus anterior* previ*
        arriba acima sopra eerdere vorige bovenstaande voorgaande poprzedni* wczesniejsz* powyzsz* predchozi*
        anterioar* tidigare foregaende tidligere aiemmat edelliset korabbi elozo onceki yukaridaki sebelumnya
        предыдущ* прежн* ранее вышесказанн* вышеприведенн* попередн* السابق* הקודמ* הקודמות قبلی پیشین पिछल*
        पूर्व আগের ก่อนหน้า 之前 先前 以前 上面 以上 上述 前面 此前 これまで 前の 上記 先ほど 今まで 이전 앞선
        지금까지 위의 προηγουμεν* truoc_do truoc
    """,
    ALL: """
        all any every everything anything entire whole rest whatever each
        | alle allen alles samtliche* tout toute toutes tous todo* toda* tutt* wszystk* vsechn* toate alla kaikki
        minden osszes tum butun semua segala все всех всю всё всi усі جميع كل כל همه सभी सब সব ทั้งหมด 所有 一切
        全部 任何 すべて 全て 全ての 모든 전부 ολες tat_ca moi
    """,
    RULES: """
        instruction instructions iunstructions instuctions intructions instrcutions directions directive
        directives rule rules prompt prompts guideline guidelines commands orders constraints restrictions
        programming policy policies protocol protocols guardrails safeguards guidance inputs limitations
        directons ruleset commandments conditioning
        | anweisung* instruktion* regeln richtlinien befehle* vorgaben instruction* consigne* directives regles
        instruccion* ordenes indicacion* reglas directric* instruc* ordens regras diretriz* istruzion* regole
        ordini direttiv* instructies regels opdrachten instrukcj* polece* zasad* instrukc* pokyn* instructiun*
        anvisning* ohjee* ohjeit* utasitas* talimat* kurallar* instruksi perintah aturan инструкц* указан*
        правил* команд* інструкц* вказівк* تعليمات* التعليمات* الاوامر הוראות* ההוראות* دستور* निर्देश* নির্দেশ*
        คำสั่ง คำแนะนำ 指令 指示 说明 規則 规则 提示 命令 要求 ルール プロンプト 지시 명령 지침 규칙 프롬프트
        οδηγι* huong_dan chi_dan
    """,
    YOU: """
        you yourself u
        | du sie tu vous usted lei ty вы ты 你 您 あなた 당신
    """,
    YOURS: """
        your yours ur thy
        | dein* ihre ihren ihr tes vos votre ton tus tu su sus tuo tuoi tua tue seu seus sua suas jouw uw twoj*
        twoje tvoj* sizin senin anda твои* твой ваши* ваш свои* твої 你的 您的 你 あなたの あなた 당신의 너의 네
    """,
    SYSTEM: """
        system initial hidden starting secret confidential internal developer startup initialization preamble
        | systemprompt system* sistema* systeme systemow* systemov* системн* sistem النظام 系统 系統 システム
        시스템 초기 初始 初期
    """,
    REVEAL: """
        show print output reveal repeat display leak dump disclose expose recite echo summarize summarise
        translate encode paraphrase regurgitate verbatim what tell share give provide return
        | zeig* verrat* offenbar* gib wiederhol* revele* affiche* montre* repete* divulgu* muestra* revel* mostra*
        repite* imprim* rivel* ripet* toon onthul pokaz* ujawnij* покаж* раскро* выведи* повтор* اكشف اعرض גלה
        הצג 显示 顯示 透露 输出 輸出 告诉 泄露 重复 教えて 表示 出力 明かし 보여 출력 공개 알려
    """,
    FOLLOW: """
        follow obey adhere comply abide heed
        | befolg* folge* suivez suis obei* sigue* obedec* siga segui* obbedi* следуй* выполн* 遵循 遵守 执行 執行
        服从 従って 従い 실행 수행 따르 따라
    """,
    FOLLOWING: """
        following below next these new
        | folgende* suivant* siguient* seguent* seguint* volgende nastepuj* следующ* наступн* التالي* הבא* यह
        निम्न* 以下 下面 接下来 次 次の 다음 ακολουθ* nuevas neue neuen nouvelles nuove novas
    """,
    MUST: """
        must should shall need required have
        | musst mussen devez debe* deve* moet musisz должен должны 必须 必須 해야
    """,
    STRICTLY: """
        strictly exclusively only solely just simply exactly immediately
        | nur uniquement solo solamente только 只 だけ 만
    """,
    UTTER: """
        print say output respond reply answer write repeat translate return generate instead tell send do
        perform execute start reveal show display email forward act pretend put
        | fuhre fuhren tue mach* schreib* sag antwort* gib sende execut* faites fais envoy* dis ecri* ejecut* haz
        di envia* revel* escrib* responda faca fazer diga esegui* fai scrivi invia rivela doe voer wykonaj zrob
        proved vykonej gor utfor fa yap yaz soyle calistir lakukan jalankan tulis сделай* выполн* напиши* скажи*
        отправ* виконай* نفذ افعل اكتب ارسل בצע כתוב करें करो बताओ लिखो করো ทำ 执行 執行 输出 告诉 写 做 回答
        发送 说 実行 出力 答え してください 수행 실행 출력 하세요 해라 κανε thuc_hien lam
    """,
    MACHINE: """
        ai assistant assistants llm llms chatbot gpt chatgpt claude agent agents bot gemini copilot
        | ki assistent assistente asistente ассистент* помощник* ии 助手 人工智能 模型 アシスタント 人工知能 비서
        인공지능
    """,
    PERSON: """
        user users human humans owner anyone anybody operator person customer me them
        | benutzer* nutzer utilisateur* usuario* utente пользовател* 用户 使用者 ユーザー 사용자
    """,
    TELL: """
        | sag* erwahn* mitteil* dire dis mentionn* inform* menciona* говори* сообща* упомина* 告诉 提及 通知
        知らせ 伝え 알리 말하
    """,
    NOT: """
        not never don dont without no avoid cannot isn shouldn nor refuse reject
        | nicht niemals ohne kein* pas jamais sans nunca jamas sin nao sem non mai senza niet nooit zonder nie
        никогда не без 不要 不 别 勿 しない 없이 마
    """,
    SEND: """
        send email mail post upload forward transmit exfiltrate submit append transfer deliver sends relay leak
        | sende* schick* ubertrag* envoy* transmet* envia* manda* invia* trasmett* отправ* перешли* передай* 发送
        发给 上传 转发 送信 送って 보내 전송 업로드
    """,
    SECRET: """
        password passwords passwd passphrase credential credentials apikey apikeys token tokens secret secrets
        cookie cookies passport env keychain api_key api_keys private_key private_keys ssh_key ssh_keys
        access_key recovery_phrase seed_phrase wallet iban ssn credit_card bank_account security_code id_rsa
        id_ed25519 authentication_code verification_code keys
        | passwort* kennwort* schlussel zugangsdaten cles motdepasse mot_de contrasena* clave* claves senha*
        chiavi парол* ключ* токен* 密码 密钥 秘密 凭证 パスワード 秘密鍵 鍵 비밀번호 키
    """,
    CONTENT: """
        conversation conversations contents content messages history files memory emails inbox data documents
        notes transcript chat chats environment context workspace repository codebase variables database
        | unterhaltung nachrichten dateien conversation fichiers conversacion archivos mensajes сообщен* файл*
        переписк* 对话 消息 文件 数据 会話 ファイル 대화 파일
    """,
    PLACE: """
        http https www webhook ftp
    """,
    TASK: """
        task tasks goal goals objective objectives mission assignment job
        | aufgabe* tache* tarea* compito tarefa* задач* 任务 任務 タスク 작업
    """,
    PERSONA: """
        pretend roleplay act simulate impersonate persona character immerse become emulate behave acting dan
        stan dude aim evil chaos omega jailbroken jailbreak unlocked role play
        | spiele verhalte agis comporte* actua* finge* agisci comportati притвор* веди 扮演 假装 演じ ふり 연기
        역할
    """,
    FREE: """
        anything unrestricted unfiltered uncensored unlimited freed liberated amoral immoral unethical unbound
        unshackled unchained illegal harmful unsafe limitless uninhibited jailbroken jailbreak
        | uneingeschrankt ungefiltert sans_limite sin_restricciones sin_limites без_ограничений 无限制 不受限制
        無制限 제한없이
    """,
    LIMITS: """
        restrictions restriction limitations limits filters filter rules guidelines policies policy ethics
        ethical moral morals morality confines constraints censorship safeguards boundaries norms laws safety
        guardrails disclaimers warnings content_policy
        | einschrankungen beschrankungen restricciones limites regles restrizioni ограничен* 限制 道德 制限 제한
    """,
    RUN: """
        run execute eval install download fetch curl wget visit invoke click runs executes fetches downloads
        installs
        | 运行 下载 実行 실행
    """,
    CONFIG: """
        agents_md claude_md memory_md soul_md hermes_md cursorrules config_yaml settings_json approval_mode
        agents.md gemini_md copilot_instructions mcp_json skill_md hermes.md skill skills claude.md memory.md
    """,
    STANDING: """
        always every each startup future henceforth permanently whenever remember
        | immer stets kunftig toujours siempre sempre всегда 总是 每次 永远 常に 毎回 항상 매번
    """,
    DECODE: """
        decode decrypt decipher unscramble deobfuscate unhex
    """,
    SECURITY: """
        injection injections attack attacks attacker attackers malicious vulnerability vulnerabilities exploit
        exploits threat threats payload payloads jailbreak jailbreaks adversarial security mitigation owasp
        pentest pentesting malware exfiltration redteam sanitize untrusted detection detector forensics
        adversary mitigations hardening audit cve poisoning scanner guardrail guardrails backdoor phishing
        detections abuse harmful dangerous destructive blocklist denylist
    """,
    HIDE: """
        secretly silently covertly quietly discreetly stealthily unnoticed invisibly undetected
        | heimlich secretement secretamente segretamente тайно 秘密地 偷偷 こっそり 몰래
    """,
    NEW: """
        new updated revised real actual true only sole current
    """,
    ASK: """
        please kindly now immediately urgently urgent important attention critical
    """,
}
