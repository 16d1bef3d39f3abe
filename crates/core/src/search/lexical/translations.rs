//! The vocabulary of software and office work in other languages, as far as a tool's English description can be found
//! with it: Spanish, French, German, Italian, Portuguese, Dutch, Russian, Chinese, Japanese, Korean.

use std::collections::HashMap;

use super::{
    tokenize::is_dense,
    vocabulary::{TermId, Vocabulary},
};

/// English words, `=`, words of other languages in the form that the tokenizer gives (lower case, no accents). `*` stands
/// for any ending.
const TABLE: &str = "
create make new = crear crea creando creac* creer cree creez creation* erstell* anleg* neue neuen neues creare nuovo nuova criar crie nuevo nueva nouveau nouvelle novo nova aanmaken maak созда* нов* 创建 新建 新增 建立 作成 作る 新規 생성 만들* 새로
add = anadir agregar agrega ajouter ajoute hinzufug* hinzu aggiung* adicionar toevoegen добав* 添加 增加 追加 추가
delete remove = borrar borra eliminar elimina eliminer supprim* effacer loschen losche entfern* cancellare elimina* rimuov* apagar excluir remover verwijder* удал* 删除 移除 削除 消す 삭제 제거
update edit change = actualiz* modific* editar edita cambiar mettre modifi* aktualisier* bearbeit* ander* aggiorn* modifica atualiz* alterar mudar bijwerken wijzig* обнов* измен* редактир* 更新 修改 编辑 更改 編集 変更 수정 변경 업데이트 편집
get read show view = leer lee lire lis lesen lies leggere leggi ler obtener obten obtenir ottenere obter mostrar muestra montre* afficher zeig* anzeig* mostra* ver voir lezen toon прочита* чита* показ* посмотр* получ* 读取 查看 获取 显示 阅读 読む 読み 表示 取得 見る 읽* 보기 보여* 가져* 조회
list = listar lista lister liste auflist* elenca* elenco listagem lijst список 列出 列表 一覧 목록 나열
search find = buscar busca encontrar encuentra chercher cherche recherch* trouver trouve such* finde finden cercare cerca trova* procurar pesquis* encontr* zoek* найти найди поиск* искать 搜索 查找 搜寻 查询 検索 探す 검색 찾*
send = enviar envia mandar manda envoyer envoie send* schick* sende inviare invia spedi* mande verstuur* stuur отправ* посла* 发送 寄送 送信 送る 보내* 전송
post publish = publicar publica publier publie veroffentlich* poste pubblica* опублик* 发布 发表 投稿 公開 게시 발행
open = abrir abre ouvrir ouvre offnen offne aprire apri abra открой откры* 打开 開く 열기
close = cerrar cierra fermer ferme schliess* chiud* fechar feche sluiten закры* 关闭 閉じる 닫*
run execute start = ejecut* executer execute* lancer lance ausfuhr* starte* start* esegu* avvi* executar rodar iniciar inicia uitvoeren выполн* запус* 运行 执行 启动 実行 起動 개시 실행 시작
stop cancel = detener parar cancelar cancela arreter annul* stopp* abbrech* ferma* annulla* остано* отмен* 停止 取消 中止 キャンセル 중지 취소
copy = copiar copia copier kopier* copiare копир* 复制 コピー 복사
move = mover mueve deplac* verschieb* sposta* verplaats* перемест* 移动 移動 이동
rename = renombr* renomm* umbenenn* rinomin* renomear переимен* 重命名 名前変更
download = descarg* telecharg* herunterlad* scaric* baixar скача* 下载 ダウンロード 다운로드
upload = subir sube televers* hochlad* caric* carregar загруз* 上传 アップロード 업로드
translate = traduc* traduire tradui* ubersetz* tradur* traduz* vertaal* перевед* перевод* 翻译 翻訳 번역
convert = convertir* convierte konvert* umwandeln umrechn* converti* converter конверт* 转换 変換 변환
calculate compute = calcul* berechn* rechne* вычисл* посчита* 计算 計算 계산
check verify = comprob* verific* verifi* pruf* controll* провер* 检查 验证 確認 検証 확인 검증
compare = compar* vergleich* сравн* 比较 比較 비교
save = guardar guarda enregistr* speicher* salva* salvar opslaan сохран* 保存 저장
write = escrib* ecrir* ecris schreib* scriv* escrev* schrijf* напис* запис* 写入 编写 書く 書き込* 쓰기 작성
schedule = programar planifi* plane* programm* agendar запланир* 安排 预定 予定 일정 예약
file = archivo* fichero* fichier* datei dateien file arquivo* ficheiro* bestand* файл* 文件 ファイル 파일
folder directory = carpeta* directorio* dossier* repertoire* ordner verzeichnis* cartella cartelle pasta* diretorio* map папк* каталог* 文件夹 目录 フォルダ フォルダー ディレクトリ 폴더 디렉토리 디렉터리
message = mensaje* message nachricht* messaggi* mensagem mensagens bericht сообщени* 消息 信息 メッセージ 메시지
channel = canal canales canaux kanal kanale canale canali canais kanaal канал* 频道 チャンネル チャネル 채널
email mail = correo* courriel* mail e-mail posta письм* почт* 邮件 电子邮件 メール 이메일 메일
issue ticket = incidencia* tarea* ticket* probleme* vorgang segnalazion* задач* тикет* 问题 工单 任务 課題 チケット 問題 이슈
task = tarea* tache* aufgabe* compit* attivita tarefa* taak taken задач* задани* 任务 タスク 작업 할일
event = evento* evenement* ereignis* termin* event* событи* 事件 活动 イベント 이벤트
calendar = calendario* calendrier* kalender* agenda календар* 日历 カレンダー 캘린더 달력
meeting = reunion* besprechung* riunion* reuniao reunioes vergader* встреч* совещани* 会议 会議 ミーティング 회의
user = usuario* utilisateur* benutzer* nutzer* utent* gebruiker* пользовател* 用户 ユーザー ユーザ 사용자
account = cuenta* compte* konto konten account* conta contas учетн* аккаунт* 账户 账号 アカウント 계정
page = pagina* page seite* страниц* 页面 网页 ページ 페이지
website web = sitio web site webseite* sito сайт* 网站 ウェブ サイト 웹사이트
document = documento* document* dokument* документ* 文档 文書 ドキュメント 문서
table = tabla* tableau* tabelle* tabella tabelle tabela* tabel таблиц* 表格 数据表 テーブル 테이블
database = base* datenbank* баз* 数据库 データベース 데이터베이스
record row = registro* enregistrement* datensatz* запис* 记录 レコード 레코드
query = consulta* requete* abfrage* запрос* 查询 クエリ 쿼리
chart graph = grafico* grafica* graphique* diagramm* grafiek диаграмм* график* 图表 グラフ チャート 차트 그래프
image picture = imagen imagenes image* bild bilder immagin* imagem imagens afbeelding* изображени* картинк* 图片 图像 画像 이미지 그림
screenshot = captura bildschirmfoto* schermata скриншот* снимок 截图 截屏 スクリーンショット 스크린샷
weather = clima tiempo meteo wetter tempo weer погод* 天气 天気 날씨
time = hora heure* uhrzeit zeit ora hora tijd время часов 时间 時間 時刻 시간
date = fecha* datum data дат* 日期 日付 날짜
map = mapa* carte karte* mappa kaart карт* 地图 地図 지도
address = direccion* adresse* indirizz* endereco* adres* адрес* 地址 住所 주소
route directions = ruta* itineraire* route* percors* rota маршрут* 路线 经路 ルート 経路 경로 길찾기
distance = distancia* distance entfernung* distanza afstand расстояни* 距离 距離 거리
price cost = precio* prix preis* prezzo preco* prijs цен* 价格 価格 가격
payment = pago* paiement* zahlung* pagament* betaling* платеж* 支付 付款 支払 결제
order = pedido* commande* bestellung* ordine encomenda заказ* 订单 注文 주문
customer client = cliente* client* kunde* klant* клиент* 客户 顧客 고객
invoice = factura* facture* rechnung* fattur* fatura* factuur счет* 发票 請求書 송장
project = proyecto* projet* projekt* progett* projeto* проект* 项目 プロジェクト 프로젝트
repository = repositorio* depot* repository репозитор* 仓库 存储库 リポジトリ 저장소 레포지토리
branch = rama* branche* zweig* ramo ветк* 分支 ブランチ 브랜치
commit = commit* коммит* 提交 コミット 커밋
comment = comentario* commentaire* kommentar* comment* commento коммент* 评论 コメント 댓글
code = codigo* code* код* 代码 コード 코드
error = error* erreur* fehler* errore* erro erros fout ошибк* 错误 エラー 오류 에러
log = registro* journal* protokoll* лог* 日志 ログ 로그
server = servidor* serveur* server* сервер* 服务器 サーバー サーバ 서버
search_web internet = internet интернет* 互联网 上网 网上 インターネット 인터넷
news = noticia* actualit* nouvelles nachrichten notizi* nieuws новост* 新闻 ニュース 뉴스
video = video* видео* 视频 動画 ビデオ 비디오 영상
music song = musica cancion* musique chanson* musik lied lieder canzone muziek музык* песн* 音乐 歌曲 音楽 曲 음악 노래
flight = vuelo* vol vols flug fluge volo voo voos vlucht* рейс* 航班 机票 フライト 항공편
hotel = hotel* hoteles отел* 酒店 ホテル 호텔
text = texto* texte* testo tekst текст* 文本 テキスト 텍스트
number = numero* nombre* nummer zahl* число номер* 数字 数值 番号 번호
name = nombre* nom name* nome naam имя имен* 名称 名字 名前 이름
button = boton* bouton* knopf schaltflache* bottone botao knop кнопк* 按钮 ボタン 버튼
click = clic cliquer clique* klick* clicca* нажм* кликн* 点击 クリック 클릭
history = historial* historique* verlauf* cronologia historico истори* 历史 履歴 기록
status = estado* statut* etat stato status статус* 状态 状態 상태
reply answer = respond* repond* antwort* rispond* responder ответ* 回复 返信 답장 답변
reminder = recordatorio* rappel* erinner* promemoria lembrete* напомин* 提醒 リマインダー 알림
contact = contacto* contact* kontakt* contatt* контакт* 联系人 連絡先 연락처
";

/// Words that say nothing, in the languages of the table. They are passed over unless the catalog has them.
#[rustfmt::skip]
const FOREIGN_STOP_WORDS: &[&str] = &[
    "ai", "al", "alla", "alle", "als", "am", "ao", "as", "au", "auf", "aus", "aux", "avec", "bei", "bitte", "che", "como",
    "con", "da", "dal", "dans", "das", "de", "dei", "del", "della", "dem", "den", "der", "des", "di", "die", "do", "dos",
    "du", "e", "een", "ein", "eine", "einem", "einen", "einer", "el", "em", "en", "es", "est", "et", "favor", "fur", "gli",
    "het", "ich", "il", "im", "ist", "je", "la", "las", "le", "les", "lo", "los", "ma", "me", "mein", "meine", "mes", "mi",
    "mir", "mis", "mit", "mon", "na", "nach", "nel", "nella", "no", "nos", "o", "os", "ou", "par", "para", "per", "por",
    "pour", "qu", "que", "quel", "quelle", "se", "seu", "sich", "sind", "sont", "su", "sur", "te", "tous", "tout", "toutes",
    "tu", "um", "uma", "un", "una", "und", "une", "uno", "unos", "van", "vom", "von", "voor", "wie", "y", "zu", "zum", "zur",
    "а", "в", "все", "для", "до", "и", "из", "к", "как", "мне", "мои", "мой", "на", "не", "о", "об", "от", "по", "с", "со", "что",
];

/// Weight of a translation.
pub(super) const TRANSLATION_WEIGHT: f32 = 0.8;
/// Weight of each further English word of the same line.
const SECOND_WEIGHT: f32 = 0.4;
/// Longest key in a script without blanks, in letters.
const MAX_DENSE: usize = 6;
/// Shortest beginning that stands for a word, in letters.
const MIN_PREFIX: usize = 2;

/// The table, in the terms of one vocabulary.
#[derive(Debug, Default)]
pub(super) struct Translations {
    /// English terms and weights by line.
    lines: Vec<Vec<(TermId, f32)>>,
    whole: HashMap<&'static str, Vec<u16>>,
    beginnings: HashMap<&'static str, Vec<u16>>,
}

impl Translations {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let mut table = Self::default();
        for line in TABLE.trim().lines() {
            let Some((english, foreign)) = line.split_once(" = ") else { continue };
            let number = table.lines.len() as u16;
            let known = english.split(' ').filter_map(|word| vocabulary.term_of(word));
            let weight = |at: usize| if at == 0 { TRANSLATION_WEIGHT } else { SECOND_WEIGHT };
            table.lines.push(known.enumerate().map(|(at, term)| (term, weight(at))).collect());
            for word in foreign.split(' ') {
                let (map, word) = match word.strip_suffix('*') {
                    Some(beginning) => (&mut table.beginnings, beginning),
                    None => (&mut table.whole, word),
                };
                map.entry(word).or_default().push(number);
            }
        }
        table
    }

    /// Whether the word only holds a sentence of another language together.
    pub(super) fn is_stop_word(word: &str) -> bool {
        FOREIGN_STOP_WORDS.binary_search(&word).is_ok()
    }

    /// The lines that translate a word: as it is, else by its longest known beginning.
    pub(super) fn of(&self, word: &str) -> &[u16] {
        if let Some(lines) = self.whole.get(word) {
            return lines;
        }
        let ends = word.char_indices().map(|(at, letter)| at + letter.len_utf8()).skip(MIN_PREFIX - 1);
        let mut longest: &[u16] = &[];
        for end in ends {
            if let Some(lines) = self.beginnings.get(&word[..end]) {
                longest = lines;
            }
        }
        longest
    }

    /// English terms of a line.
    pub(super) fn terms(&self, line: u16) -> &[(TermId, f32)] {
        &self.lines[line as usize]
    }

    /// Calls `f` with each known word inside of a text in a script without blanks: the longest first, none overlapping.
    pub(super) fn each_dense<'a>(&self, text: &'a str, mut f: impl FnMut(&'a str)) {
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            let mut next = at + letter.len_utf8();
            if is_dense(letter) {
                let ends = text[at..].char_indices().map(|(from, letter)| at + from + letter.len_utf8());
                let known = |end: &usize| {
                    let word = &text[at..*end];
                    self.whole.contains_key(word) || self.beginnings.contains_key(word)
                };
                if let Some(end) = ends.take(MAX_DENSE).filter(known).last() {
                    f(&text[at..end]);
                    next = end;
                }
            }
            at = next;
        }
    }
}

#[cfg(test)]
mod tests;
