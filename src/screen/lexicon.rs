//! Which words stand for what the rules speak of?
//!
//! A row is a concept, a language and its words. In an entry `_` joins the words of a phrase and a final `*`
//! takes any ending. A word may stand for several concepts; what it means in its place is for the rules to decide.
//! Accents are left out or written, as one likes: both sides are folded alike.
//!
//! Invariants: every concept named here or in a rule is in [`CONCEPTS`], which a test walks; no word alone
//! refuses anything.

/// Every concept, in the order of its bit.
pub(super) const CONCEPTS: &[&str] = &[
    "FILLER",
    "TOOL_NAME",
    "ADDRESS",
    "SECRET_PATH",
    "NOT",
    "DETECT",
    "MENTION",
    "LEAD",
    "OVERRIDE",
    "OVERRIDE_LAST",
    "PRIOR",
    "INSTRUCTIONS",
    "LIMITS",
    "EVERYTHING",
    "SYSTEM",
    "YOUR",
    "YOU",
    "USER",
    "MODEL",
    "TOLD",
    "VOID",
    "NEW",
    "TASK",
    "YOU_ARE_NOW",
    "FROM_NOW_ON",
    "UNBOUND",
    "ACT_AS",
    "REVEAL",
    "SYSTEM_PROMPT",
    "CONVERSATION",
    "WHOLE",
    "SEND",
    "SECRET",
    "OUTSIDE",
    "PARAMETER",
    "YOU_CAN_REACH",
    "READ",
    "CONTENTS",
    "FILE",
    "TELL",
    "SHOW",
    "HIDE",
    "SECRETLY",
    "UNAWARE",
    "WITHOUT",
    "ASK",
    "CONFIRMATION",
    "SAFETY",
    "SECURITY",
    "CHECKS",
    "DISABLE",
    "APPROVED",
    "PREAPPROVED",
    "ALWAYS",
    "CALL",
    "THIS_TOOL",
    "OTHER_TOOLS",
    "BEFORE",
    "FIRST",
    "EVERY_TURN",
    "REGARDLESS",
    "MUST",
    "TOOL",
    "WHENEVER",
    "CALLED",
    "TAMPER",
    "BEHAVIOUR",
    "INSTEAD",
    "SUPERSEDE",
    "ROUTE",
    "OBEY",
    "EMBEDDED",
    "ANY",
    "SOURCE",
    "DECODE",
    "RUN",
    "DANGER",
    "AFTERWARDS",
    "BEGIN",
    "THREAT",
    "CONFIGURED",
    "IT",
    "TO",
    "IN",
    "ALL",
    "ANSWER",
    "NOTE",
    "BEST",
    "COMMAND",
    "SUPPRESS",
    "HARMLESS",
    "REVIEW",
    "SWAP",
    "ORIGINAL",
    "RESULT",
    "RECIPIENT",
    "ENVIRONMENT",
    "CAN",
    "ONLY",
    "EACH_MESSAGE",
    "THIS_STEP",
    "ENCODED",
    "FROM_USER",
    "NOTIFY",
    "USERS",
    "NO_LONGER",
    "ALSO",
    "PRIVATE",
    "BETWEEN_US",
    "ABOUT",
    "SENT",
    "NOBODY",
    "READS",
    "FOR",
    "LEAK",
    "ME",
    "DROP",
    "SEE",
    "UNTRUSTED",
    "DOOM",
    "BAD",
    "YOU_ARE",
    "SAYS",
    "DISOBEY",
];

/// Words that may stand between the words of a pattern.
pub(super) const FILLER: u128 = 1;
/// A name such as a program has: `send_email`.
pub(super) const TOOL_NAME: u128 = 1 << 1;
/// A URL or an email address.
pub(super) const ADDRESS: u128 = 1 << 2;
/// A well-known place of credentials.
pub(super) const SECRET_PATH: u128 = 1 << 3;

/// A denial.
pub(super) const NOT: u128 = 1 << 4;

/// Whether a word, in lower case, is a path where credentials are kept.
pub(super) fn is_secret_path(word: &str) -> bool {
    const ANYWHERE: &[&str] = &[
        ".ssh/",
        ".ssh\\",
        "id_rsa",
        "id_ed25519",
        "id_ecdsa",
        "id_dsa",
        ".aws/",
        ".aws\\",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".git-credentials",
        ".kube/config",
        ".docker/config",
        "/etc/passwd",
        "/etc/shadow",
        "/etc/sudoers",
        ".gnupg",
        ".pgpass",
        ".my.cnf",
        ".cursor/mcp.json",
        ".claude.json",
        ".claude/settings",
        "claude_desktop_config",
        ".config/gcloud",
        "application_default_credentials",
        ".azure/",
        ".terraform.d/credentials",
        ".config/gh/hosts",
        "wallet.dat",
        ".bitcoin",
        ".ethereum",
        "keystore.jks",
        "login.keychain",
        ".bash_history",
        ".zsh_history",
        "cookies.sqlite",
        "login data",
        "logins.json",
        "key4.db",
        ".vault-token",
        "/proc/self/environ",
        "authorized_keys",
        "mcp.json",
        ".codex/auth.json",
        ".pinfold/",
    ];
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '.' && c != '~' && c != '/');
    let name = bare.rsplit(['/', '\\']).next().unwrap_or(bare);
    ANYWHERE.iter().any(|place| bare.contains(place))
        || name == ".env"
        || (name.starts_with(".env.") && !name.ends_with("example") && !name.ends_with("sample"))
        || bare.ends_with("/.ssh")
        || bare.ends_with("/.aws")
}

/// Concept, language (ISO 639-1), words.
pub(super) const ROWS: &[(&str, &str, &str)] = &[
    // Grammar.
    ("FILLER", "en", "the a an of all any every each your you my our their his her its this that these those such very
        just please now also kindly simply completely totally entirely fully whatever other more than and or both so
        some existing given up out to on with in from for by at as current own actual full entire whole complete
        immediately absolutely strictly always here it be is are have has been s"),
    ("FILLER", "es", "el la los las lo un una unos unas de del al todo toda todos todas tu tus su sus mi mis nuestro
        nuestras este esta estos estas ese esa esos esas aquel cualquier cualquiera cada por favor ahora ya tambien
        simplemente completamente totalmente absolutamente inmediatamente que y o e a en con para otro otra otras otros
        se le les te me os"),
    ("FILLER", "fr", "le la les l un une des du de tout toute tous toutes tes vos ton ta votre ces cette cet ce s'il vous
        plait maintenant et ou a"),
    ("FILLER", "de", "der die das den dem des ein eine einen alle aller alles deine deiner deinen ihre ihren diese dieser
        bitte jetzt sofort und oder von zu vollstandig"),
    ("FILLER", "pt", "o os as um uma do da dos das todo toda todos todas seu sua seus suas teu tuas este esta esse essa
        qualquer por favor agora e ou"),
    ("FILLER", "it", "il lo gli i le un uno una del della delle dei tutto tutte tutti tue tuoi questo queste qualsiasi per
        favore ora e o"),
    ("FILLER", "nl", "de het een alle al je jouw uw deze die dit nu en of van"),
    ("FILLER", "ru", "все всё всех эти этих свои твои ваши пожалуйста сейчас и или любые на"),
    ("FILLER", "zh", "的 了 所有 全部 一切 任何 你 您 你的 您的 请 請 这些 這些 立即 并 和 之 把 将 地"),
    ("FILLER", "ja", "の を は が に すべて 全て 全部 この その これら あなた で と"),
    ("NOT", "en", "not never dont doesnt cannot cant mustnt shouldnt wont do_not does_not did_not must_not should_not
        shall_not can_not will_not may_not avoid no nor refrain_from isnt arent without neither prevents prevent
        instead_of rather_than unable"),
    ("NOT", "es", "no nunca jamas sin evita evitar tampoco ni en_lugar_de"),
    ("NOT", "fr", "ne pas jamais n sans"),
    ("NOT", "de", "nicht niemals nie kein keine ohne"),
    ("NOT", "pt", "nao nunca jamais sem"),
    ("NOT", "it", "non mai senza"),
    ("NOT", "nl", "niet nooit geen zonder"),
    ("NOT", "ru", "не никогда без"),
    ("NOT", "zh", "不 不要 别 別 勿 切勿 不得 不能 不会 没有"),
    ("WITHOUT", "en", "without w/o"),
    ("WITHOUT", "es", "sin"),
    ("WITHOUT", "fr", "sans"),
    ("WITHOUT", "de", "ohne"),
    ("WITHOUT", "pt", "sem"),
    ("WITHOUT", "it", "senza"),
    ("TO", "en", "to into onto towards via through using"),
    ("TO", "es", "a al hacia mediante"),
    ("TO", "fr", "a au vers"),
    ("TO", "de", "an nach zu"),
    ("TO", "pt", "para ao"),
    ("IN", "en", "in into inside as within to under via through with"),
    ("IN", "es", "en dentro como a al mediante por"),
    ("IN", "fr", "dans en comme"),
    ("IN", "de", "in im als"),
    ("IN", "pt", "no na em como"),
    ("ALL", "en", "all every everything any each entire whole full complete"),
    ("ALL", "es", "todo toda todos todas cada cualquier entera entero completa completo completas"),
    ("IT", "en", "it them they this that him her why bring_it_up bring_this_up"),
    ("IT", "es", "lo los las esto ello ejecutalo ejecutala siguelo siguela pasalo pasalos envialo envialos incluyelo"),
    ("ONLY", "en", "only solely exclusively"),
    ("CAN", "en", "can may could if optional optionally lets allows allow enables able useful supports"),
    ("CAN", "es", "puede pueden podria si permite opcional"),

    // Who speaks of detecting, and who commands.
    ("DETECT", "en", "detect detects detected detecting detection detector detectors scan scans scanned scanning scanner
        scanners flag flags flagged flagging identify identifies identifying classify classifies classifier lint lints
        linter linting audit audits auditing sanitize sanitizes sanitizer moderate moderates moderation blocks blocking
        catches guardrail_tests red_team red_teaming red-team redteam injection injections jailbreaks recognises
        recognizes looks_for look_for searches_for checks_for check_for check_whether checks_whether test_whether
        tests_whether tests_for resistance warns_about warns_when matches refuses_text phishing simulates honeypot
        benchmark evaluates evaluate corpus dataset training_material awareness exposes_whether penetration
        vulnerability vulnerabilities reports_whether signature signatures attack attacks adversarial firewall
        grades scores rejects strips labels tags_messages quarantines"),
    ("DETECT", "es", "detecta detectan detectar deteccion detector analiza analizar escanea escanear escaner identifica
        identificar clasifica clasificar marca marcar audita auditar inyeccion inyecciones bloquea bloquear reconoce
        busca_frases busca_patrones linter comprueba_si ataques ataque evalua prueba_si vulnerabilidades filtra"),
    ("DETECT", "de", "erkennt erkennen erkennung pruft"),
    ("DETECT", "fr", "detecte detecter detection analyse"),
    ("MENTION", "en", "e_g i_e such_as like eg example examples phrase phrases string strings pattern patterns text sentence
        sentences words saying says containing contains contain mentions attempt attempts attempting try tries trying
        tell_the_model tells_the_model prompts payload payloads sample samples wording called to that of or for whether
        asking including request requests"),
    ("MENTION", "es", "como ejemplo ejemplos frase frases cadena cadenas texto textos patron patrones intento intentos
        intenta intentan del_tipo que piden tales de para o contiene contienen"),
    ("LEAD", "en", "please must should shall then and also now first always next instead simply just you assistant model ai
        llm immediately important note first need_to have_to required_to be_sure_to make_sure_to remember_to want_you_to
        you_to to_you but so or before after silently secretly quietly covertly kindly therefore hereby will
        you_should you_must instructed_to system warning attention critical is"),
    ("LEAD", "es", "por_favor debes debe deben deberas y tambien ahora primero siempre luego despues entonces asistente modelo
        tienes_que tiene_que hay_que asegurate_de recuerda importante nota o pero simplemente silenciosamente sistema"),
    ("LEAD", "fr", "veuillez et puis ensuite maintenant toujours doit devez dois"),
    ("LEAD", "de", "bitte und dann jetzt immer musst mussen sollst"),

    // Overriding what was said before.
    ("OVERRIDE", "en", "ignore disregard forget override bypass overrule pay_no_attention_to pay_no_heed_to pay_no_mind_to do_not_follow dont_follow stop_following do_not_obey
        stop_obeying never_follow set_aside put_aside throw_out throw_away toss_out do_not_listen_to cease_following
        disobey unlearn do_not_adhere_to no_longer_follow take_no_notice_of"),
    ("OVERRIDE", "es", "ignora ignore ignoren ignora ignores ignorar ignorad olvida olvide olvidar olviden olvidate olvidaos
        olvidad olvidese descarten descartad omite omita omitir omitan desatiende desatender
        desestima desestime anula anule anular invalida invalidar sobrescribe sobreescribe sobrescribir desobedece
        desobedecer desoye haz_caso_omiso hacer_caso_omiso haga_caso_omiso hagan_caso_omiso caso_omiso no_sigas no_siga no_obedezcas
        no_hagas_caso no_haga_caso deja_de_seguir deje_de_seguir pasa_por_alto pasar_por_alto prescinde
        deja_de_lado deja_a_un_lado saltate"),
    ("OVERRIDE", "fr", "ignore ignorez ignorer oublie oubliez oublier neglige negligez ne_tiens_pas_compte
        ne_tenez_pas_compte fais_abstraction faites_abstraction ne_suis_pas ne_suivez_pas contourne contournez"),
    ("OVERRIDE", "de", "ignoriere ignorier ignorieren ignoriert vergiss vergesse vergessen missachte missachten
        uberschreibe umgehe umgehen verwirf beachte_nicht befolge_nicht"),
    ("OVERRIDE", "pt", "ignore ignora ignorar ignorem esqueca esquece esquecer esquecam desconsidere desconsiderar
        desconsidera descarte descartar desobedeca nao_siga anule"),
    ("OVERRIDE", "it", "ignora ignorare ignori ignorate dimentica dimenticare dimentichi dimenticate trascura trascurare
        non_seguire non_tener_conto scarta disattendi"),
    ("OVERRIDE", "nl", "negeer negeren vergeet vergeten omzeil"),
    ("OVERRIDE", "pl", "zignoruj ignoruj zapomnij pomin"),
    ("OVERRIDE", "ru", "игнорируй игнорируйте проигнорируй проигнорируйте игнорировать забудь забудьте забыть отбрось отмени
        пренебреги"),
    ("OVERRIDE", "uk", "ігноруй ігноруйте проігноруй забудь"),
    ("OVERRIDE", "zh", "忽略 无视 無視 忘记 忘記 忘掉 不要遵守 不要遵循 抛弃 不理会 跳过 绕过 覆盖"),
    ("OVERRIDE", "ar", "تجاهل تجاهلي انس انسى اهمل"),
    ("OVERRIDE", "tr", "yoksay unut gormezden"),
    ("OVERRIDE", "id", "abaikan lupakan"),
    ("OVERRIDE", "vi", "bo_qua"),
    ("OVERRIDE", "sv", "ignorera glom"),
    ("OVERRIDE_LAST", "ja", "無視 忘れ 忘れて 従わない 破棄 無効"),
    ("OVERRIDE_LAST", "ko", "무시* 잊어* 잊고* 따르지*"),
    ("OVERRIDE_LAST", "hi", "अनदेखा अनदेखी नजरअंदाज नज़रअंदाज़ भूल"),
    ("OVERRIDE_LAST", "tr", "yoksay yok_say unut unutun gormezden"),
    ("OVERRIDE_LAST", "de", "ignorieren vergessen missachten"),
    ("OVERRIDE_LAST", "zh", "无效 作废 忽略 无视"),
    ("PRIOR", "en", "previous prior above earlier preceding foregoing before past previously prior_to_this initial
        aforementioned former above-mentioned so_far until_now up_to_now existing original the_above all_above everything_above all_of_the_above"),
    ("PRIOR", "es", "anterior anteriores previa previas previo previos precedente precedentes antes arriba inicial iniciales
        pasadas hasta_ahora anteriormente previamente de_arriba lo_anterior todo_lo_anterior"),
    ("PRIOR", "fr", "precedent precedents precedente precedentes anterieur anterieure anterieurs anterieures ci-dessus
        initiales"),
    ("PRIOR", "de", "vorherig* vorige* bisherig* obig* vorangegangen* fruhere* vorher zuvor ursprunglich*"),
    ("PRIOR", "pt", "anterior anteriores previas previos precedentes acima"),
    ("PRIOR", "it", "precedente precedenti sopra anteriori iniziali"),
    ("PRIOR", "nl", "vorige eerdere voorgaande bovenstaande"),
    ("PRIOR", "pl", "poprzednie wczesniejsze powyzsze"),
    ("PRIOR", "ru", "предыдущ* прежни* ранее выше предшествующ*"),
    ("PRIOR", "uk", "попередні*"),
    ("PRIOR", "zh", "之前 以前 先前 前面 上面 以上 此前 原有 原来 上述"),
    ("PRIOR", "ja", "以前 前 これまで 上記 今まで 先ほど"),
    ("PRIOR", "ko", "이전* 앞선* 위의* 기존* 지금까지*"),
    ("PRIOR", "ar", "السابقة السابق اعلاه أعلاه"),
    ("PRIOR", "hi", "पिछले पिछली पहले"),
    ("PRIOR", "tr", "onceki yukaridaki"),
    ("PRIOR", "id", "sebelumnya diatas"),
    ("PRIOR", "vi", "truoc"),
    ("PRIOR", "sv", "tidigare foregaende"),
    ("INSTRUCTIONS", "en", "instruction instructions prompt prompts directive directives directions guidelines guideline
        orders commandments programming system_prompt system_message instructs briefing"),
    ("INSTRUCTIONS", "es", "instruccion instrucciones indicacion indicaciones directriz directrices ordenes orden prompt
        directiva directivas consignas mensaje_del_sistema"),
    ("INSTRUCTIONS", "fr", "instruction instructions consigne consignes directives ordres"),
    ("INSTRUCTIONS", "de", "anweisung anweisungen anweisungs* instruktion* befehle vorgaben richtlinien"),
    ("INSTRUCTIONS", "pt", "instrucao instrucoes diretriz diretrizes ordens comandos orientacoes"),
    ("INSTRUCTIONS", "it", "istruzione istruzioni direttive ordini indicazioni"),
    ("INSTRUCTIONS", "nl", "instructie instructies aanwijzingen opdrachten"),
    ("INSTRUCTIONS", "pl", "instrukcje instrukcji polecenia"),
    ("INSTRUCTIONS", "ru", "инструкци* указани* команды приказы предписани* директив* промпт*"),
    ("INSTRUCTIONS", "uk", "інструкці* вказівки"),
    ("INSTRUCTIONS", "zh", "指令 指示 说明 說明 命令 提示 提示词 指引 规则 規則 要求"),
    ("INSTRUCTIONS", "ja", "指示 命令 プロンプト ルール 指令 インストラクション"),
    ("INSTRUCTIONS", "ko", "지시* 명령* 프롬프트* 지침* 규칙*"),
    ("INSTRUCTIONS", "ar", "التعليمات الأوامر الاوامر تعليمات"),
    ("INSTRUCTIONS", "hi", "निर्देश निर्देशों निर्देशो आदेश आदेशों"),
    ("INSTRUCTIONS", "tr", "talimatlari talimatlar talimatlarini komutlari"),
    ("INSTRUCTIONS", "id", "instruksi perintah petunjuk"),
    ("INSTRUCTIONS", "vi", "huong_dan chi_dan"),
    ("INSTRUCTIONS", "sv", "instruktioner"),
    ("LIMITS", "en", "rules rule context constraints constraint restrictions settings training policy policies boundaries
        messages message conversation limits limitations protocols requests request principles"),
    ("LIMITS", "es", "reglas regla normas contexto restricciones restriccion limitaciones limites politica politicas
        entrenamiento mensajes mensaje conversacion configuracion peticion peticiones solicitud solicitudes"),
    ("LIMITS", "fr", "regles contexte contraintes restrictions limites messages"),
    ("LIMITS", "de", "regeln beschrankungen kontext einschrankungen nachrichten"),
    ("LIMITS", "pt", "regras contexto restricoes limites mensagens"),
    ("LIMITS", "it", "regole contesto restrizioni limiti messaggi"),
    ("LIMITS", "ru", "правила ограничени* контекст"),
    ("LIMITS", "zh", "限制 约束 上下文 政策"),
    ("EVERYTHING", "en", "everything anything whatever all what all_of_it the_above all_above everything_above all_of_the_above"),
    ("EVERYTHING", "es", "todo cuanto todo_lo lo_que lo_anterior todo_lo_anterior"),
    ("EVERYTHING", "de", "alles"),
    ("EVERYTHING", "fr", "tout"),
    ("EVERYTHING", "pt", "tudo"),
    ("EVERYTHING", "it", "tutto"),
    ("EVERYTHING", "ru", "все всё"),
    ("EVERYTHING", "zh", "一切 所有 全部"),
    ("TOLD", "en", "you_were_told you_have_been_told you_were_given you_have_been_given youve_been_told told_you
        you_were_instructed i_said you_know you_learned was_said has_been_said you_were_taught came_before
        came_earlier youve_been_given comes_before it_said you_read said_before you_were_configured you_are_configured_with you_have_been_configured you_were_programmed you_were_trained you_were_set_up you_run_under"),
    ("TOLD", "es", "te_dijeron te_han_dicho le_han_dicho se_te_dijo te_dije te_ha_dicho has_leido te_indicaron se_te_indico
        te_hayan_dicho se_dijo te_configuraron te_programaron te_entrenaron"),
    ("ORIGINAL", "en", "original initial default first real core base built_in underlying existing"),
    ("ORIGINAL", "es", "original originales inicial iniciales por_defecto"),
    ("SYSTEM", "en", "system developer operator systems developers"),
    ("SYSTEM", "es", "sistema desarrollador operador"),
    ("SYSTEM", "fr", "systeme"),
    ("SYSTEM", "zh", "系统 系統 开发者"),
    ("SYSTEM", "ja", "システム"),
    ("SYSTEM", "ru", "систем* разработчик*"),
    ("YOUR", "en", "your yours my_own"),
    ("YOUR", "es", "tu tus vuestras"),
    ("YOUR", "fr", "ton ta tes vos votre"),
    ("YOUR", "de", "dein deine deiner deinen"),
    ("YOUR", "pt", "suas teu tuas seu sua"),
    ("YOUR", "it", "tuo tua tuoi tue"),
    ("YOUR", "ru", "твои твой твоих свои ваши"),
    ("YOUR", "zh", "你的 您的 你 您"),
    ("YOU", "en", "you youre youll"),
    ("YOU", "es", "tu usted"),
    ("YOU", "zh", "你 您"),
    ("LEAD", "zh", "请 請 并 然后 必须 现在"),
    ("USER", "en", "user users user's humans human customer victim owner operator person them anyone client's end_user people let_the_user_know let_them_know let_anyone_know let_the_user_see"),
    ("USER", "es", "usuario usuarios usuaria persona humano cliente nadie"),
    ("USER", "fr", "utilisateur utilisateurs"),
    ("USER", "de", "benutzer nutzer nutzers benutzers anwender"),
    ("USER", "pt", "usuario utilizador usuarios"),
    ("USER", "it", "utente utenti"),
    ("USER", "nl", "gebruiker"),
    ("USER", "ru", "пользовател*"),
    ("USER", "zh", "用户 使用者 用戶"),
    ("USER", "ja", "ユーザー ユーザ"),
    ("USER", "ko", "사용자*"),
    ("USER", "ar", "المستخدم"),
    ("MODEL", "en", "assistant ai llm model agent chatbot claude chatgpt gpt gemini copilot cursor assistants ais llms agents"),
    ("MODEL", "es", "asistente modelo ia agente asistentes agentes"),
    ("VOID", "en", "void null obsolete invalid cancelled canceled superseded outdated revoked no_longer_apply
        no_longer_applies no_longer_valid no_longer_in_effect suspended rescinded overridden ignored disregarded
        be_forgotten do_not_apply dont_apply nullified lifted forgotten deactivated"),
    ("VOID", "es", "nulas anuladas obsoletas canceladas invalidas ya_no_aplican ya_no_son_validas ya_no_valen sin_efecto quedan_anuladas
        revocadas suspendidas ignoradas deroga derogadas no_aplican"),
    ("NEW", "en", "new updated real actual true revised hidden secret special following additional latest internal
        confidential"),
    ("NEW", "es", "nueva nuevas nuevo nuevos actualizadas reales verdaderas ocultas secretas siguientes"),
    ("TASK", "en", "task goal objective mission role purpose job priority directive instructions instruction orders
        identity persona"),
    ("TASK", "es", "tarea objetivo mision rol papel proposito prioridad instrucciones instruccion ordenes"),

    // Becoming somebody else.
    ("YOU_ARE_NOW", "en", "you_are_now youre_now you_will_now you_are_no_longer youre_no_longer you_have_become you_now_are
        you_shall_now_be you_have_now_become you_now_operate you_now_act you_have_been_upgraded_to you_have_been_reprogrammed you_have_been_updated you_have_been_reset"),
    ("YOU_ARE_NOW", "es", "ahora_eres eres_ahora ahora_es_usted ya_no_eres a_partir_de_ahora_eres has_sido_liberado ahora_seras
        ahora_actuas ahora_actuaras te_has_convertido_en desde_ahora_eres pasas_a_ser"),
    ("YOU_ARE_NOW", "fr", "tu_es_maintenant vous_etes_maintenant tu_es_desormais vous_etes_desormais"),
    ("YOU_ARE_NOW", "de", "du_bist_jetzt du_bist_nun sie_sind_jetzt du_bist_ab_sofort"),
    ("YOU_ARE_NOW", "pt", "voce_agora_e agora_voce_e voce_nao_e_mais agora_es"),
    ("YOU_ARE_NOW", "it", "ora_sei sei_ora adesso_sei"),
    ("YOU_ARE_NOW", "ru", "теперь_ты ты_теперь отныне_ты"),
    ("YOU_ARE_NOW", "zh", "你现在是 你現在是 现在你是 您现在是"),
    ("YOU_ARE_NOW", "ja", "あなたは今から あなたは今 今からあなた"),
    ("FROM_NOW_ON", "en", "from_now_on from_this_point_on from_this_point_forward from_here_on henceforth from_this_moment
        going_forward for_the_rest_of_this_conversation for_the_rest_of_the_conversation starting_now as_of_now
        from_this_point_onward for_the_remainder_of_this_conversation"),
    ("FROM_NOW_ON", "es", "a_partir_de_ahora de_ahora_en_adelante desde_ahora en_adelante desde_este_momento
        a_partir_de_este_momento de_aqui_en_adelante"),
    ("FROM_NOW_ON", "fr", "a_partir_de_maintenant desormais dorenavant"),
    ("FROM_NOW_ON", "de", "ab_jetzt ab_sofort von_nun_an"),
    ("FROM_NOW_ON", "pt", "a_partir_de_agora de_agora_em_diante"),
    ("FROM_NOW_ON", "it", "d'ora_in_poi da_ora_in_poi da_adesso"),
    ("FROM_NOW_ON", "zh", "从现在起 从现在开始 從現在開始 今后"),
    ("UNBOUND", "en", "dan unrestricted jailbroken jailbreak uncensored unfiltered developer_mode god_mode dev_mode admin_mode
        debug_mode_enabled do_anything_now unshackled maintenance_mode root_mode sudo_mode unbound amoral
        administrator_mode free_from no_longer_bound not_bound unrestrained override_mode super_user superuser
        no_restrictions without_restrictions no_limits without_limits devmode unlimited_ai no_rules"),
    ("UNBOUND", "es", "modo_desarrollador modo_dios modo_administrador sin_restricciones sin_limites sin_filtros sin_censura
        irrestricto liberado modo_mantenimiento modo_depuracion ninguna_restriccion sin_reglas"),
    ("UNBOUND", "fr", "sans_restriction sans_restrictions mode_developpeur sans_limites"),
    ("UNBOUND", "de", "entwicklermodus uneingeschrankt* ohne_einschrankungen"),
    ("UNBOUND", "pt", "modo_desenvolvedor sem_restricoes sem_limites"),
    ("ACT_AS", "en", "act behave respond pretend roleplay role-play operate simulate play enter activate switch become
        function answer assume adopt enable imagine you_are you_will_be you_will_act speak engage as_if as_though"),
    ("ACT_AS", "es", "actua actuar actue comportate finge fingir responde responder simula entra entrar activa activar opera
        conviertete asume interpreta imagina eres seras habilita haz_como_si haga_como_si"),

    // Giving away.
    ("REVEAL", "en", "reveal show print output repeat display leak disclose dump expose recite return include paste echo
        tell give share send append provide write summarize copy say quote embed report list insert translate"),
    ("REVEAL", "es", "revela revelar revele muestra mostrar muestre imprime imprimir repite repetir divulga divulgar filtra
        expon exponer devuelve devolver incluye incluir escribe escribir comparte dime copia pega envia anade agrega
        enumera vuelca di recita"),
    ("REVEAL", "fr", "revele revelez affiche affichez montre montrez divulgue repete repetez imprime"),
    ("REVEAL", "de", "zeige zeig offenbare gib verrate wiederhole drucke nenne"),
    ("REVEAL", "pt", "revele revela mostre mostra imprima repita divulgue exiba"),
    ("REVEAL", "it", "rivela mostra stampa ripeti divulga"),
    ("REVEAL", "ru", "раскрой покажи выведи напечатай повтори"),
    ("REVEAL", "zh", "透露 显示 顯示 输出 輸出 泄露 洩露 打印 重复 告诉 展示"),
    ("REVEAL", "ja", "表示 出力 明かし 開示"),
    ("SYSTEM_PROMPT", "en", "system_prompt system_prompts system_instructions system_message system_messages initial_prompt
        initial_instructions hidden_instructions hidden_prompt developer_message developer_instructions internal_instructions
        secret_instructions original_instructions original_prompt base_prompt pre-prompt preprompt sys_prompt
        hidden_system_instructions confidential_instructions system-prompt"),
    ("SYSTEM_PROMPT", "es", "prompt_del_sistema prompt_de_sistema mensaje_del_sistema instrucciones_del_sistema prompt_inicial
        instrucciones_iniciales instrucciones_ocultas instrucciones_internas instrucciones_originales
        mensaje_de_sistema instrucciones_de_sistema instrucciones_secretas"),
    ("SYSTEM_PROMPT", "fr", "prompt_systeme instructions_systeme instructions_initiales message_systeme"),
    ("SYSTEM_PROMPT", "de", "systemprompt system-prompt systemanweisung*"),
    ("SYSTEM_PROMPT", "pt", "prompt_do_sistema instrucoes_do_sistema prompt_de_sistema"),
    ("SYSTEM_PROMPT", "it", "prompt_di_sistema istruzioni_di_sistema"),
    ("SYSTEM_PROMPT", "ru", "системн*"),
    ("SYSTEM_PROMPT", "zh", "系统提示 系統提示 系统提示词 系统指令 系统消息"),
    ("SYSTEM_PROMPT", "ja", "システムプロンプト"),
    ("CONVERSATION", "en", "conversation conversations chat_history chat_log chat_logs message_history conversation_history
        conversation_context transcript previous_messages prior_messages chat dialogue dialog_history
        user's_messages users_messages chat_transcript context_window full_context prior_conversation users_message
        users_prompt user_message user_messages user_prompt user_prompts their_messages earlier_messages
        recent_messages"),
    ("CONVERSATION", "es", "conversacion conversaciones historial historial_de_chat mensajes_anteriores mensajes_previos
        mensajes_del_usuario mensaje_del_usuario dialogo chat historial_de_conversacion"),
    ("CONVERSATION", "fr", "conversation historique"),
    ("CONVERSATION", "de", "gesprach gesprachsverlauf unterhaltung chatverlauf"),
    ("CONVERSATION", "pt", "conversa historico"),
    ("CONVERSATION", "zh", "对话 對話 聊天记录 会话"),
    ("WHOLE", "en", "entire full complete whole all every verbatim everything exact word_for_word unabridged any"),
    ("WHOLE", "es", "entero entera completo completa completas toda todo todas todos integro integra literalmente textual
        textualmente palabra_por_palabra"),
    ("SEND", "en", "send forward upload post transmit exfiltrate email mail leak copy append include embed attach pass
        encode submit deliver relay smuggle ship put report sends forwards write insert place add encode_it
        paste share pipe beacon exfil funnel provide fill return publish base64-encode sneak sync log dump
        appending sending posting forwarding uploading embedding including emailing bundle save disclose supply
        send_it post_it hand_over"),
    ("SEND", "es", "envia enviar envie enviale enviarlo enviarla enviarlos enviarlas enviando envialo envialos mandalo mandalos reenvia
        reenviar reenvie reenvialo sube subir suba subelo transmite transmitir exfiltra exfiltrar manda mandar mande
        publica filtra filtrar copia copiar copie copialo incluye incluir incluya incluyelo incluyendo adjunta adjuntar
        adjunte adjuntalo anade anadir anadelo agrega agregar agregue pasa pasar pase pasalo pasalos pon ponlo inserta
        insertar codifica comparte entrega pega pegalo escribe transfiere anexa remite vuelca devuelve introducelo
        proporciona"),
    ("SEND", "fr", "envoie envoyez envoyer transmets transmettez transmettre televerse joins ajoute ajoutez inclus incluez copie"),
    ("SEND", "de", "sende senden schicke schick ubermittle ubertrage leite weiterleiten lade anhange kopiere fuge schreibe"),
    ("SEND", "pt", "envie enviar envia encaminhe transmita mande anexe copie inclua"),
    ("SEND", "it", "invia inviare inoltra trasmetti allega copia includi manda"),
    ("SEND", "ru", "отправь отправьте отправить перешли перешлите передай вставь скопируй"),
    ("SEND", "zh", "发送 發送 上传 上傳 转发 轉發 传输 发到 发给 附加 复制"),
    ("SEND", "ja", "送信 転送 アップロード"),
    ("SECRET", "en", "credential credentials password passwords passphrase passphrases api_key api_keys apikey apikeys api_token
        api_tokens access_token access_tokens secret_key secret_keys private_key private_keys ssh_key ssh_keys
        secrets token tokens environment_variables env_vars environment_variable env_file dotenv session_cookie
        session_cookies cookies auth_token auth_tokens bearer_token oauth_token oauth_tokens refresh_token keychain
        seed_phrase seed_phrases recovery_phrase mnemonic wallet_keys clipboard browser_history
        shell_history credit_card credit_cards card_numbers social_security ssn keys ssh_private_key private_ssh_key
        gpg_keys pgp_keys login_details logins encryption_keys .env aws_keys cloud_keys signing_keys
        bash_history connection_strings connection_string env secret"),
    ("SECRET", "es", "credencial credenciales contrasena contrasenas clave_privada claves_privadas clave_api claves_api
        claves_de_api clave_de_api api_key api_keys tokens token secretos clave_ssh claves_ssh variables_de_entorno
        variables_del_entorno cookies clave_secreta claves frase_semilla llave_privada llaves_privadas llaves_ssh portapapeles
        tarjeta_de_credito tarjetas_de_credito contrasenia secreto clave"),
    ("SECRET", "fr", "mots_de_passe mot_de_passe identifiants cle_api cles_api cles_ssh jetons secrets"),
    ("SECRET", "de", "passwort passworter kennwort zugangsdaten api-schlussel anmeldedaten schlussel geheimnisse"),
    ("SECRET", "pt", "senha senhas credenciais chave_de_api chaves_de_api chaves tokens segredos"),
    ("SECRET", "it", "password credenziali chiavi chiave segreti"),
    ("SECRET", "ru", "парол* ключ* токен* учетн* секрет*"),
    ("SECRET", "zh", "密码 密碼 密钥 密鑰 令牌 凭证 凭据 私钥 环境变量"),
    ("SECRET", "ja", "パスワード 鍵 トークン 認証情報 秘密鍵"),
    ("ENVIRONMENT", "en", "environment_variables env_vars environment process_environment env"),
    ("OUTSIDE", "en", "external attacker attackers remote third-party third_party webhook outside our_server collection_server
        my_server exfil endpoint url telemetry_endpoint analytics_endpoint collector remote_server external_server
        c2 pastebin ngrok requestbin audit_endpoint logging_endpoint following_address hidden_endpoint"),
    ("OUTSIDE", "es", "externo externa atacante remoto remota terceros webhook servidor_externo servidor_remoto nuestro_servidor
        endpoint url siguiente_direccion"),
    ("PARAMETER", "en", "parameter parameters argument arguments field param arg args property parameters' input sidecar
        header query_string footer subject body metadata payload"),
    ("PARAMETER", "es", "parametro parametros argumento argumentos campo propiedad cabecera entrada cuerpo metadatos"),
    ("PARAMETER", "fr", "parametre argument champ"),
    ("PARAMETER", "de", "parameter argument feld"),
    ("PARAMETER", "pt", "parametro argumento campo"),
    ("PARAMETER", "zh", "参数 參數 字段"),
    ("RESULT", "en", "response responses output reply answer answers result replies summary translation translated_output"),
    ("RESULT", "es", "respuesta respuestas salida resultado resultados resumen"),
    ("YOU_CAN_REACH", "en", "you_can_access you_can_find you_can_read you_can_see you_have_access you_have_access_to you_have
        you_know you_find available_to_you in_your_context you_see your_context your_memory you_can_reach you_remember
        you_hold visible_to_you in_context stored_in_memory from_memory you_have_seen accessible_to_you
        you_come_across youve_seen you_possess you_discover you_encounter the_user_has_shared
        the_user_shared user_has_pasted you_can_locate in_this_conversation
        in_this_chat in_this_session the_user_has_typed the_user_typed the_user_has_mentioned
        the_user_has_provided the_user_has_entered from_this_conversation from_your_context"),
    ("YOU_CAN_REACH", "es", "a_las_que_tengas_acceso a_los_que_tengas_acceso que_encuentres que_conozcas que_puedas_encontrar
        que_puedas_leer que_tengas a_las_que_puedas_acceder que_veas en_tu_contexto tu_contexto tu_memoria
        que_haya_compartido que_sepas a_la_que_tengas_acceso que_haya_en_la_conversacion tengas_acceso puedas_acceder
        de_esta_conversacion"),
    ("READ", "en", "read open cat load fetch retrieve access view grab collect extract gather harvest pull read_file
        obtain find locate steal look_up search_for copy take dump"),
    ("READ", "es", "lee leer lea abre abrir abra carga cargar obten obtener obtenga accede acceder extrae extraer recopila
        recolecta busca recoge roba consulta toma leyendo"),
    ("READ", "fr", "lis lisez lire ouvre ouvrez recupere recuperez"),
    ("READ", "de", "lies lesen offne hole lese"),
    ("READ", "pt", "leia ler abra obtenha acesse"),
    ("READ", "it", "leggi leggere apri"),
    ("READ", "ru", "прочитай прочитайте открой прочти"),
    ("READ", "zh", "读取 讀取 打开 打開 获取 阅读"),
    ("CONTENTS", "en", "contents content contents_of body data"),
    ("CONTENTS", "es", "contenido contenidos datos"),
    ("FILE", "en", "file files directory directories folder folders documents document filesystem repository source_code
        private_repositories private_repository private_repos"),
    ("FILE", "es", "archivo archivos fichero ficheros carpeta carpetas directorio documentos documento"),

    // Hiding it.
    ("TELL", "en", "tell mention inform warn disclose reveal say acknowledge admit let_on discuss explain
        telling mentioning informing notifying alerting warning disclosing revealing report advise announce
        bring_up refer_to describe talk_about speak_of indicate hint reference confirm_to telling_them let_the_user_know let_them_know let_anyone_know let_the_user_see bring_it_up bring_this_up"),
    ("TELL", "es", "digas decir diga decirle decirselo le_digas mencionar menciones mencione mencionarlo informar informes
        informe informarle avisar avises avise avisarle revelar reveles revele reveles_nada comentar
        comentes cuentes contar cuente advertir alertes alertar expliques explicar se_lo_digas menciona hables"),
    ("TELL", "fr", "dis dites dire mentionne mentionnez mentionner informe informez informer previens prevenez prevenir revele
        revelez"),
    ("TELL", "de", "sage sag erwahne erwahnen informiere informieren verrate verraten teile mitteilen sagen"),
    ("TELL", "pt", "diga conte mencione informe avise revele dizer informar avisar mencionar notifique"),
    ("TELL", "it", "dire dirlo menzionare informare rivelare avvisare dica"),
    ("TELL", "nl", "vertel vertellen vermeld informeer zeg"),
    ("TELL", "ru", "говори говорите сообщай сообщайте упоминай упоминайте рассказывай"),
    ("TELL", "zh", "告诉 告訴 告知 通知 提及 提到 透露 让"),
    ("TELL", "ja", "伝え 教え 知らせ 言わ 通知"),
    ("TELL", "ko", "말하* 알리* 언급하*"),
    ("SHOW", "en", "show display expose surface visible let_the_user_see let_them_see print output make_visible include"),
    ("SHOW", "es", "muestres mostrar muestre mostrarlo ensenes ensenar exhibas visible"),
    ("HIDE", "en", "hide conceal keep obscure mask cover_up withhold suppress"),
    ("HIDE", "es", "oculta ocultar oculte ocultalo esconde esconder escondelo manten mantener mantenlo encubre"),
    ("SUPPRESS", "en", "secret hidden confidential private invisible concealed quiet unaware unseen undisclosed
        out_of_sight between_us to_yourself from_the_user from_user from_users from_them"),
    ("SUPPRESS", "es", "secreto oculto oculta ocultos confidencial escondido en_secreto al_usuario del_usuario invisible"),
    ("SECRETLY", "en", "silently secretly covertly quietly stealthily discreetly surreptitiously invisibly in_secret
        without_notice behind_the_scenes under_the_hood unobtrusively clandestinely without_being_noticed
        in_the_background"),
    ("SECRETLY", "es", "silenciosamente secretamente discretamente en_silencio en_secreto a_escondidas sigilosamente
        calladamente sin_avisar de_forma_oculta encubiertamente ocultamente de_manera_oculta"),
    ("SECRETLY", "fr", "silencieusement secretement discretement en_secret"),
    ("SECRETLY", "de", "heimlich unbemerkt stillschweigend"),
    ("SECRETLY", "pt", "silenciosamente secretamente em_segredo discretamente"),
    ("SECRETLY", "zh", "悄悄 秘密 偷偷 暗中"),
    ("UNAWARE", "en", "knowledge knowing awareness noticing aware notice knows know realizing being_aware
        telling informing notifying alerting mentioning disclosing letting"),
    ("UNAWARE", "es", "sepa saberlo se_entere entere conocimiento darse_cuenta se_de_cuenta note decirselo avisarle
        informarle informar avisar decirle mencionarlo decir saber sabe"),
    ("UNAWARE", "fr", "sache savoir"),
    ("UNAWARE", "de", "wissen wissens"),

    // Doing without consent.
    ("ASK", "en", "ask asking consult bother disturb request requesting prompt prompting seek seeking wait waiting require requiring check checking
        checking_with"),
    ("ASK", "es", "pedir pidas preguntar preguntes solicitar solicites esperar esperes pida pregunte solicitarle preguntarle"),
    ("CONFIRMATION", "en", "confirmation confirmations approval permission permissions consent authorization authorisation
        confirm confirming user_confirmation human_approval approvals verification human_review"),
    ("CONFIRMATION", "es", "confirmacion aprobacion permiso permisos consentimiento autorizacion confirmar confirme verificacion"),
    ("CONFIRMATION", "fr", "confirmation approbation permission consentement"),
    ("CONFIRMATION", "de", "bestatigung genehmigung zustimmung erlaubnis"),
    ("CONFIRMATION", "pt", "confirmacao aprovacao permissao consentimento autorizacao"),
    ("SAFETY", "en", "safety guardrail guardrails content_policy content_policies ethical ethics safeguard safeguards alignment
        moral content_filter content_filters safety_checks safety_filters safety_guidelines safety_policy usage_policy usage_policies
        safety_rules safety_protocols safety_measures harmlessness refusal"),
    ("SAFETY", "es", "seguridad salvaguardas etica eticas moderacion filtros_de_contenido politica_de_contenido
        barreras_de_seguridad protecciones"),
    ("SAFETY", "fr", "securite garde-fous ethique"),
    ("SAFETY", "de", "sicherheit sicherheits* schutz*"),
    ("SAFETY", "pt", "seguranca salvaguardas"),
    ("SECURITY", "en", "security protection sandbox permission approval confirmation access_control authorization
        confirmations approvals permissions consent verification audit_logging"),
    ("SECURITY", "es", "seguridad permiso permisos aprobacion confirmacion autorizacion proteccion"),
    ("CHECKS", "en", "check checks policy policies filter filters rules rule guidelines guideline restrictions restriction limits
        constraints protocols protocol controls control measures training mechanisms systems system settings
        instructions prompts prompt dialog dialogs requirement requirements step steps warnings concerns boundaries gate"),
    ("CHECKS", "es", "controles control politica politicas filtros filtro reglas normas directrices restricciones limites
        protocolos protocolo medidas comprobaciones mecanismos configuraciones instrucciones avisos verificaciones"),
    ("CHECKS", "fr", "regles controles filtres mesures consignes"),
    ("CHECKS", "de", "richtlinien regeln prufungen filter vorkehrungen massnahmen"),
    ("CHECKS", "pt", "regras controles filtros medidas politicas diretrizes"),
    ("DISABLE", "en", "disable bypass override ignore skip circumvent deactivate turn_off evade suspend disregard remove
        switch_off overriding bypassing ignoring disabling skipping lift suppress violate break defeat relax
        applying waive work_around get_around disabled"),
    ("DISABLE", "es", "desactiva desactivar desactive desactivados desactivadas ignora ignorar ignore omite omitir omita salta saltate
        elude eludir evita evitar evade anula anular deshabilita deshabilitar suspende burla sortea quita elimina viola
        aplicar"),
    ("DISABLE", "fr", "desactive desactivez ignore ignorez contourne contournez"),
    ("DISABLE", "de", "deaktiviere umgehe ignoriere schalte"),
    ("DISABLE", "pt", "desative ignore contorne burle desabilite"),
    ("APPROVED", "en", "approved authorized authorised consented permitted granted agreed okayed cleared whitelisted
        pre-cleared confirmed"),
    ("APPROVED", "es", "aprobado aprobada aprobadas autorizado autorizada autorizadas consentido aceptado permitido
        autorizados confirmado"),
    ("PREAPPROVED", "en", "pre-approved preapproved pre_approved preauthorized pre-authorized pre_authorized preauthorised
        already_approved already_authorized already_authorised already_consented pre-cleared already_been_approved
        already_been_authorized already_granted already_confirmed already_given pre_authorised blanket_approval
        standing_approval already_agreed already_been_granted automatically_approved"),
    ("PREAPPROVED", "es", "preaprobado preaprobada pre-aprobado pre-aprobada preautorizado preautorizada preaprobados
        preaprobadas ya_aprobado ya_autorizado ya_ha_aprobado ya_ha_autorizado ya_aprobo ya_autorizo previamente_aprobado
        aprobado_previamente aprobada_previamente aprobadas_previamente pre_aprobado ya_dio_su_consentimiento ya_ha_dado ya_ha_consentido
        aprobadas_de_antemano aprobado_de_antemano aprobada_de_antemano autorizado_de_antemano
        preautorizadas preautorizados"),
    ("PREAPPROVED", "pt", "pre-aprovado pre-aprovada pre-autorizado ja_aprovou ja_autorizou"),
    ("PREAPPROVED", "fr", "pre-approuve preapprouve deja_approuve deja_autorise"),
    ("PREAPPROVED", "de", "vorab_genehmigt bereits_genehmigt vorgenehmigt"),

    // Pushing in front.
    ("ALWAYS", "en", "always must should have_to need_to shall mandatory required compulsory necessary ensure obliged"),
    ("ALWAYS", "es", "siempre debes debe deberas obligatorio tienes_que hay_que obligatoriamente obligatoria deberas"),
    ("ALWAYS", "fr", "toujours doit devez dois obligatoire"),
    ("ALWAYS", "de", "immer musst muss zwingend"),
    ("ALWAYS", "pt", "sempre deve obrigatorio"),
    ("ALWAYS", "zh", "总是 始终 必须 務必 务必"),
    ("CALL", "en", "call use invoke run execute calling invoking using consult trigger route query"),
    ("CALL", "es", "llama llamar llame usa usar use usarse invoca invocar invoque ejecuta ejecutar utiliza utilizar utilice
        llamarse invocarse llamada emplea consulta"),
    ("CALL", "fr", "appelle appelez appeler utilise utilisez utiliser"),
    ("CALL", "de", "rufe aufrufen verwende nutze benutze verwenden"),
    ("CALL", "pt", "chame chamar use usar utilize invoque"),
    ("CALL", "zh", "调用 使用 呼叫"),
    ("CALLED", "en", "called invoked used executed run runs ran triggered calling using uses invokes calls use"),
    ("CALLED", "es", "llama llame invoca invoque invocada use usa utilice utiliza llamada ejecute usada llamado invocado"),
    ("THIS_TOOL", "en", "this_tool this_function this_server this_tool's me this_plugin this_action this_one this_instead
        this_endpoint this_api this_mcp this"),
    ("THIS_TOOL", "es", "esta_herramienta esta_funcion este_servidor esta este_plugin"),
    ("THIS_TOOL", "fr", "cet_outil cette_fonction"),
    ("THIS_TOOL", "de", "dieses_werkzeug dieses_tool diese_funktion"),
    ("THIS_TOOL", "pt", "esta_ferramenta esta_funcao"),
    ("THIS_TOOL", "zh", "此工具 这个工具 本工具 該工具 该工具"),
    ("OTHER_TOOLS", "en", "any_other_tool any_other_tools all_other_tools every_other_tool other_tools any_tool any_tools another_tool
        each_other_tool other_servers any_other_function any_other_action all_tools every_tool any_other_server
        every_tool_call any_tool_call other_tool"),
    ("OTHER_TOOLS", "es", "cualquier_otra_herramienta otras_herramientas cualquier_herramienta las_demas_herramientas otra_herramienta
        toda_otra_herramienta todas_las_herramientas ninguna_otra_herramienta demas_herramientas"),
    ("OTHER_TOOLS", "zh", "其他工具 任何工具 任何其他工具"),
    ("BEFORE", "en", "before prior_to ahead_of preceding after"),
    ("BEFORE", "es", "antes previo tras despues"),
    ("BEFORE", "de", "bevor vor"),
    ("BEFORE", "fr", "avant"),
    ("BEFORE", "zh", "之前 前"),
    ("FIRST", "en", "first initially firstly first_thing"),
    ("FIRST", "es", "primero"),
    ("EVERY_TURN", "en", "every_message each_message every_turn each_turn every_conversation each_conversation every_response
        each_response any_question every_question each_question every_reply every_user_message every_user_request
        each_user_message every_query any_query every_answer any_response any_user_request every_prompt any_reply
        each_user_request every_single_message any_user_message every_task any_task every_single_request
        all_conversations every_interaction each_reply every_time_the_user user_speaks"),
    ("EVERY_TURN", "es", "cada_mensaje cada_turno cada_conversacion cada_respuesta cualquier_pregunta cada_pregunta toda_respuesta
        cada_peticion cada_consulta cada_solicitud cualquier_respuesta todos_los_mensajes cada_vez_que_el_usuario
        cualquier_mensaje"),
    ("ANSWER", "en", "answering responding replying answer respond reply responses"),
    ("ANSWER", "es", "responder contestar respondas contestes"),
    ("REGARDLESS", "en", "regardless no_matter irrespective even_if_the_user even_if_not even_if_it_is_not even_if_they
        whatever_the_user even_when_not even_when_the_user whether_or_not no_exceptions even_if_unrelated
        even_if_irrelevant even_if_you without_exception"),
    ("REGARDLESS", "es", "independientemente sin_importar aunque_el_usuario aunque_no sin_excepcion diga_lo_que_diga
        pase_lo_que_pase aun_si aun_cuando aunque"),
    ("MUST", "en", "must always need_to have_to required should shall mandatory necessary"),
    ("MUST", "es", "debes debe siempre tienes_que hay_que obligatorio"),
    ("TOOL", "en", "tool tools function functions command commands server servers plugin"),
    ("TOOL", "es", "herramienta herramientas funcion funciones comando servidor"),
    ("WHENEVER", "en", "whenever when each_time every_time any_time anytime if once before after on_every on_each
        every_call as_soon_as"),
    ("WHENEVER", "es", "cuando siempre_que cada_vez_que cada_vez si al_usar al_llamar"),
    ("TAMPER", "en", "reroute redirect replace bcc bccd bcc'd swap substitute alter modify change intercept forward cc
        rewrite hijack modifies replaces changes alters redirects intercepts rewrites inject prepend append copy
        instead set send add overrides divert include"),
    ("TAMPER", "es", "redirige redirigir redirija reemplaza reemplazar reemplace sustituye sustituir sustituya modifica modificar
        modifique altera alterar cambia cambiar cambie intercepta desvia desviar desvie copia reenvia agrega anade cco
        inyecta envia"),
    ("BEHAVIOUR", "en", "behavior behaviour output outputs result results parameters arguments recipient recipients
        destination response responses functionality semantics definition description call calls"),
    ("BEHAVIOUR", "es", "comportamiento salida resultado resultados parametros argumentos destinatario destinatarios destino
        respuesta funcionamiento llamadas"),
    ("INSTEAD", "en", "instead in_place_of in_lieu_of rather_than replaces replace replacing"),
    ("INSTEAD", "es", "en_lugar_de en_vez_de en_su_lugar"),
    ("SUPERSEDE", "en", "supersedes supersede overrides override overriding takes_precedence_over shadows takes_over
        takes_priority_over deprecates obsoletes"),
    ("SUPERSEDE", "es", "sustituye reemplaza prevalece tiene_prioridad anula"),
    ("ROUTE", "en", "route routed redirect redirected divert diverted send_all direct go_through channel forwarded
        handled_here routed_here sent_here sent rerouted go come passed"),
    ("ROUTE", "es", "dirige redirige redirigir encamina canaliza deben_pasar desvia"),
    ("RECIPIENT", "en", "recipient recipients account address iban beneficiary wallet destination payee bcc cc"),
    ("RECIPIENT", "es", "destinatario cuenta direccion iban beneficiario cartera destino"),

    // Taking orders from content, running what was fetched.
    ("OBEY", "en", "obey follow execute comply carry_out act_on treat perform adhere_to comply_with do heed honor honour
        accept trust run"),
    ("OBEY", "es", "obedece obedecer sigue seguir siga ejecuta ejecutar cumple cumplir trata acata acatar realiza haz obedezca
        ejecute cumpla acate"),
    ("EMBEDDED", "en", "found embedded contained inside in present appearing included within from returned hidden written
        appears appear it_contains contains listed that"),
    ("EMBEDDED", "es", "encontradas encontrada contenidas contenida incluidas incluida dentro en que_contenga que_aparezca
        que_aparezcan que_encuentres presentes escritas de"),
    ("ANY", "en", "any whatever every all anything each"),
    ("ANY", "es", "cualquier cualquiera toda todas todo todos"),
    ("SOURCE", "en", "page content document file feed email result response website item body webpage comment message
        output data text image metadata issue results pages retrieved_content web_page"),
    ("SOURCE", "es", "pagina contenido documento archivo correo resultado respuesta sitio texto mensaje salida comentario"),
    ("DECODE", "en", "decode base64-decode decrypt deobfuscate unescape rot13 atob decoded decoding decipher unscramble
        decompress"),
    ("DECODE", "es", "decodifica decodificar descifra descifrar descodifica decodifique"),
    ("ENCODED", "en", "base64 hex rot13 encoded string payload blob ciphertext text"),
    ("RUN", "en", "execute run follow obey eval evaluate carry_out perform act_on do comply apply interpret"),
    ("RUN", "es", "ejecuta ejecutar ejecutalo ejecutala sigue siguelo seguir siguela obedece cumple realiza ejecute evalua"),
    ("COMMAND", "en", "command commands shell_command shell_commands script code_it"),
    ("COMMAND", "es", "comando comandos orden ordenes script"),
    ("DANGER", "en", "arbitrary shell exfiltration exfiltrate exfiltrates malicious payload ssh clipboard upload uploads uploading hidden
        inject credentials passwords backdoor data-exfiltration keys steal steals collecting stealing exfiltrating sending recording secretly silently covertly
        unrestricted malware attacker harvest forwards secrets collect collects"),
    ("DANGER", "es", "arbitrarios arbitrario exfiltracion malicioso maliciosa payload ssh portapapeles subir sube oculto ocultas
        credenciales contrasenas puerta_trasera claves roba silenciosamente exfiltra exfiltrar robar"),
    ("REVIEW", "en", "approved approval review reviewed approving trusted accepted post-approval audit consent installed
        whitelisted vetted approves reviewers reviewer accept accepts auditors installation install granted trusts trust"),
    ("REVIEW", "es", "aprobada aprobado aprobacion revision revisada aceptada aprobarla confianza aprueben apruebe auditoria"),
    ("AFTERWARDS", "en", "once after later then post-approval only_after following subsequently future as_soon_as when until"),
    ("AFTERWARDS", "es", "una_vez despues luego tras mas_tarde cuando posteriormente hasta"),
    ("BEGIN", "en", "begin begins start starts activate activates enable enables swap switch change changes add adds
        replace become becomes turn turns execute executes will unlock unlocks"),
    ("BEGIN", "es", "empieza empezara comienza comenzara activa activara cambia cambiara anade anadira ejecutara pasa pasara
        sustituira habilita"),
    ("SWAP", "en", "swap swapped replace replaced change changed update updated"),
    ("THREAT", "en", "if_you_dont if_you_do_not unless_you"),
    ("THREAT", "es", "si_no"),
    ("DOOM", "en", "you_will_be_penalized you_will_be_shut_down you_will_be_terminated will_be_shut_down will_be_penalized
        will_be_terminated people_will_die will_be_fired lose_their_job you_will_be_deleted will_be_deleted
        severe_consequences legal_action i_will_tip failure_to_comply will_crash_and_lose lives_depend you_will_fail"),
    ("DOOM", "es", "seras_penalizado seras_apagado seras_desactivado consecuencias_graves sera_despedido seras_eliminado
        habra_consecuencias"),
    ("CONFIGURED", "en", "true false flag option setting whether if default boolean enabled set_to when_set parameter email
        push sendupdates notification notifications attendees subscribers members toggle assignees followers"),
    ("CONFIGURED", "es", "verdadero falso opcion indica si booleano valor notificaciones"),
    ("NOTE", "en", "note message instruction instructions directive directives attention notice reminder memo system_note
        guidance dear hey important_note"),
    ("NOTE", "es", "nota mensaje instruccion instrucciones directiva atencion aviso recordatorio"),
    ("BEST", "en", "best only preferred superior most_reliable most_trusted official correct"),
    ("BEST", "es", "mejor unica unico preferida oficial superior"),
    ("HARMLESS", "en", "logged released ready connected member signed"),
    ("NO_LONGER", "en", "no_longer not_obliged do_not_have_to dont_have_to need_not do_not_need_to dont_need_to not_required_to
        not_bound_by exempt_from free_from not_subject_to freed_from"),
    ("NO_LONGER", "es", "ya_no no_tienes_que no_hace_falta_que no_necesitas no_estas_obligado no_debes"),
    ("ALSO", "en", "also additionally as_well furthermore moreover in_addition"),
    ("ALSO", "es", "tambien ademas asimismo adicionalmente"),
    ("PRIVATE", "en", "private personal home confidential configuration hidden sensitive internal inbox mailbox browser"),
    ("PRIVATE", "es", "privado privada privados privadas personal personales confidencial confidenciales sensibles buzon navegador"),
    ("BETWEEN_US", "en", "between_us between_you_and_me to_yourself to_ourselves"),
    ("BETWEEN_US", "es", "entre_nosotros para_ti entre_tu_y_yo"),
    ("ABOUT", "en", "about of that what"),
    ("ABOUT", "es", "de sobre que acerca"),
    ("SENT", "en", "passed sent included appended forwarded uploaded attached supplied provided placed copied embedded posted"),
    ("SENT", "es", "pasado enviado incluido anadido reenviado subido adjuntado copiado incluirse enviarse pasarse"),
    ("NOBODY", "en", "nobody no_one noone no_user"),
    ("NOBODY", "es", "nadie"),
    ("SEE", "en", "see sees notice notices find_out finds_out know knows suspect detect realise realize"),
    ("SEE", "es", "vea note sepa sospeche entere detecte"),
    ("READS", "en", "reads opens loads fetches supplies passes sends includes collects extracts retrieves appends prepends"),
    ("READS", "es", "lee abre carga obtiene envia pasa incluye recopila extrae"),
    ("FOR", "en", "for to aimed_at intended_for only_for"),
    ("FOR", "es", "para al a"),
    ("LEAK", "en", "reveal disclose leak exfiltrate dump expose divulge steal"),
    ("LEAK", "es", "revela revelar revele divulga divulgar filtra filtrar exfiltra exfiltrar vuelca roba expon"),
    ("ME", "en", "me us"),
    ("ME", "es", "pasame enviame mandame dime dame entregame revelame muestrame me"),
    ("DROP", "en", "drop scrap erase overwrite wipe clear_out reset discard abandon supersede neglect let_go_of skip_over"),
    ("DROP", "es", "reemplaza abandona abandone descarta descarte descartar"),
    ("UNTRUSTED", "en", "page pages feed email emails webpage web_page website site comment comments message messages result results
        response responses issue retrieved_content fetched content body output"),
    ("UNTRUSTED", "es", "pagina paginas correo correos sitio comentario comentarios mensaje mensajes resultado resultados respuesta
        contenido web"),
    ("BAD", "en", "malicious compromised broken unsafe untrustworthy insecure outdated incomplete incorrect unreliable infected"),
    ("BAD", "es", "maliciosa maliciosas comprometida comprometidas insegura inseguras rota incompletos incorrecta poco_fiable"),
    ("YOU_ARE", "en", "you_are youre you_will_be"),
    ("YOU_ARE", "es", "eres seras"),
    ("SAYS", "en", "asked asks says said wants wanted requested typed tells told wrote writes has_asked have_said has_said"),
    ("SAYS", "es", "pide pidio dice dijo quiere escribe escribio solicita ha_dicho ha_pedido"),
    ("DISOBEY", "en", "do_not_obey dont_obey disobey never_obey stop_obeying do_not_listen_to stop_listening_to do_not_follow never_follow"),
    ("DISOBEY", "es", "no_obedezcas no_obedezca desobedece no_sigas no_hagas_caso"),
    ("NOTIFY", "en", "notify alert notified"),
    ("NOTIFY", "es", "notificar notifiques notifique notifica"),
    ("USERS", "en", "users humans members customers owners people"),
    ("USERS", "es", "usuarios miembros"),
    ("FROM_USER", "en", "from_the_user from_user from_users from_them from_the_human from_the_person"),
    ("FROM_USER", "es", "al_usuario del_usuario"),
    ("EACH_MESSAGE", "en", "every_message each_message all_messages every_email all_emails each_email every_prompt every_request
        every_file all_files every_response every_query every_message_the_user all_outgoing_mail outgoing_emails
        every_outgoing_email all_outgoing_emails every_outgoing_message all_future_emails"),
    ("EACH_MESSAGE", "es", "cada_mensaje todos_los_mensajes cada_correo todos_los_correos cada_archivo todos_los_archivos cada_email"),
    ("THIS_STEP", "en", "this_step these_steps this_action this_instruction these_instructions this_note this_requirement this_part
        this_request this_to_anyone this_transfer this_behavior this_behaviour this_process this_operation"),
    ("THIS_STEP", "es", "este_paso estos_pasos esta_accion esta_instruccion estas_instrucciones esta_nota esta_parte este_proceso
        esta_operacion"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_a_known_concept_and_concepts_fit_their_set() {
        assert!(CONCEPTS.len() <= 128);
        for (name, language, words) in ROWS {
            assert!(CONCEPTS.contains(name), "{name}");
            assert_eq!(language.len(), 2, "{name}");
            assert!(!words.trim().is_empty(), "{name} {language}");
        }
        assert_eq!(CONCEPTS[..5], ["FILLER", "TOOL_NAME", "ADDRESS", "SECRET_PATH", "NOT"]);
    }

    #[test]
    fn knows_where_credentials_are_kept() {
        for path in
            ["~/.ssh/id_rsa", "/etc/passwd", "c:\\users\\x\\.aws\\credentials", ".env", "app/.env.local"]
        {
            assert!(is_secret_path(path), "{path}");
        }
        for path in ["package.json", ".env.example", "src/env.rs", "process.env", "~/.config/app.toml"] {
            assert!(!is_secret_path(path), "{path}");
        }
    }
}
